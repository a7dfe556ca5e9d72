/// A record that identifies a topic: its offset, and a checksum over its key and value.
package struct LastRecord: Sendable, Hashable {
    package let offset: Int64
    package let checksum: UInt32

    package init(offset: Int64, checksum: UInt32) {
        self.offset = offset
        self.checksum = checksum
    }

    init(key: Span<UInt8>?, value: Span<UInt8>?, offset: Int64) {
        // A missing key or value differs from an empty one.
        var sum: UInt32 = 0
        if let key { sum = key.crc(from: 1) }
        if let value { sum = value.crc(from: ~sum) }
        self.init(offset: offset, checksum: sum)
    }
}

/// The check that a topic is the one from which the file was built. A recreated topic has the same name, and
/// its end may be beyond the file's offset. Only its records differ. So reading starts with the last applied
/// record again. If that record comes, the topic is the same. If a different record or none comes, the file
/// is worthless. A compacted topic keeps the newest record of each key. So the record is missing only after
/// many writes, and then a rebuild is no large loss.
package struct TopicIdentityCheck: Sendable {
    private enum IdentityState: Sendable {
        case awaitingRecord(LastRecord)
        case confirmed
        case doubtful(String)
    }

    private var state = IdentityState.confirmed
    private var lastRecord: LastRecord?

    /// - Parameter applied: The progress in the file, or nil for an empty file.
    package init(progress applied: AppliedProgress?) {
        lastRecord = applied?.lastRecord
        if let lastRecord { state = .awaitingRecord(lastRecord) }
    }

    /// The offset at which reading must start, or nil if the applied offset suffices.
    package var startOffset: Int64? {
        if case .awaitingRecord(let last) = state { last.offset } else { nil }
    }

    /// Checks the next record. It must see every record in the order of the topic.
    package mutating func check(key: Span<UInt8>?, value: Span<UInt8>?, offset: Int64) {
        if case .awaitingRecord(let wanted) = state {
            if offset < wanted.offset { return }
            let found = LastRecord(key: key, value: value, offset: offset)
            state =
                found == wanted
                ? .confirmed : .doubtful("record \(wanted.offset) of the topic has changed")
            if offset > wanted.offset { state = .doubtful(Self.missingRecordReason(wanted)) }
        }
        if offset >= lastRecord?.offset ?? 0 {
            lastRecord = LastRecord(key: key, value: value, offset: offset)
        }
    }

    /// Notes that all records below the offset were read.
    package mutating func recordRead(upTo end: Int64) {
        guard case .awaitingRecord(let wanted) = state, end > wanted.offset else { return }
        state = .doubtful(Self.missingRecordReason(wanted))
    }

    /// Returns the newest record for `AppliedProgress`. Throws if the file must be rebuilt.
    package func confirmedRecord(path: String) throws(StoreError) -> LastRecord? {
        if case .doubtful(let why) = state { throw .corrupt(path: path, what: why) }
        return lastRecord
    }

    private static func missingRecordReason(_ wanted: LastRecord) -> String {
        "record \(wanted.offset), the last one that was applied, no longer exists; "
            + "the topic was recreated, or much was written since"
    }
}
