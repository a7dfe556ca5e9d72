/// The check that a topic is the one from which the file was built.
///
/// A recreated topic has the same name, and its end may be beyond the file's offset. Only its records differ.
/// So reading starts with the last applied record again. If that record comes, the topic is the same. If a
/// different record or none comes, the file is worthless.
///
/// A compacted topic keeps the newest record of each key. So the record is missing only after many writes,
/// and then a rebuild is no large loss.
package struct TopicIdentityCheck: Sendable {
    private enum IdentityState: Sendable {
        case awaitingRecord(LastRecord)
        case confirmed
        /// The file must be rebuilt, for this reason.
        case doubtful(String)
    }

    private var state = IdentityState.confirmed
    /// The newest record so far, of the file or of the topic.
    private var lastRecord: LastRecord?

    /// - Parameter progress: The progress in the file, or nil for an empty file.
    package init(progress: AppliedProgress?) {
        lastRecord = progress?.lastRecord
        if let lastRecord { state = .awaitingRecord(lastRecord) }
    }

    /// The offset at which reading must start, or nil if the applied offset suffices.
    package var startOffset: Int64? {
        if case .awaitingRecord(let expected) = state { expected.offset } else { nil }
    }

    /// Checks the next record. Call it with every record that is read, in the order of the topic.
    package mutating func check(key: Span<UInt8>?, value: Span<UInt8>?, offset: Int64) {
        if case .awaitingRecord(let expected) = state {
            if offset < expected.offset { return }
            if offset > expected.offset {
                state = .doubtful(Self.missingRecordReason(expected))
            } else if LastRecord(key: key, value: value, offset: offset) == expected {
                state = .confirmed
            } else {
                state = .doubtful("record \(expected.offset) of the topic has changed")
            }
        }
        let newestOffset = lastRecord?.offset ?? 0
        if offset >= newestOffset {
            lastRecord = LastRecord(key: key, value: value, offset: offset)
        }
    }

    /// Notes that all records below the offset were read.
    package mutating func recordRead(upTo end: Int64) {
        guard case .awaitingRecord(let expected) = state, end > expected.offset else { return }
        state = .doubtful(Self.missingRecordReason(expected))
    }

    /// Returns the newest record for `AppliedProgress`. Throws if the file must be rebuilt.
    package func confirmedRecord(path: String) throws(StoreError) -> LastRecord? {
        if case .doubtful(let reason) = state { throw .corrupt(path: path, damage: reason) }
        return lastRecord
    }

    private static func missingRecordReason(_ expected: LastRecord) -> String {
        "record \(expected.offset), the last one that was applied, no longer exists; "
            + "the topic was recreated, or much was written since"
    }
}
