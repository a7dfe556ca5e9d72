/// A record that identifies a topic: its offset, and a checksum over its key and value.
package struct LastRecord: Sendable, Hashable {
    package let offset: Int64
    package let sum: UInt32

    package init(offset: Int64, sum: UInt32) {
        self.offset = offset
        self.sum = sum
    }

    init(_ key: Span<UInt8>?, _ value: Span<UInt8>?, offset: Int64) {
        // A missing key or value differs from an empty one.
        var sum: UInt32 = 0
        if let key { sum = key.crc(from: 1) }
        if let value { sum = value.crc(from: ~sum) }
        self.init(offset: offset, sum: sum)
    }
}

/// The check that a topic is the one from which the file was built. A recreated topic has the same name, and
/// its end may be beyond the file's offset. Only its records differ. So reading starts with the last applied
/// record again. If that record comes, the topic is the same. If a different record or none comes, the file
/// is worthless. A compacted topic keeps the newest record of each key. So the record is missing only after
/// many writes, and then a rebuild is no large loss.
package struct TopicIdentity: Sendable {
    private enum Standing: Sendable {
        case awaiting(LastRecord)
        case known
        case doubtful(String)
    }

    private var standing = Standing.known
    private var last: LastRecord?

    /// - Parameter applied: The progress in the file, or nil for an empty file.
    package init(_ applied: Applied?) {
        last = applied?.last
        if let last { standing = .awaiting(last) }
    }

    /// The offset at which reading must start, or nil if the applied offset suffices.
    package var start: Int64? {
        if case .awaiting(let last) = standing { last.offset } else { nil }
    }

    /// Checks the next record. It must see every record in the order of the topic.
    package mutating func hear(_ key: Span<UInt8>?, _ value: Span<UInt8>?, offset: Int64) {
        if case .awaiting(let wanted) = standing {
            if offset < wanted.offset { return }
            let found = LastRecord(key, value, offset: offset)
            standing =
                found == wanted
                ? .known : .doubtful("record \(wanted.offset) of the topic has changed")
            if offset > wanted.offset { standing = .doubtful(Self.gone(wanted)) }
        }
        if offset >= last?.offset ?? 0 { last = LastRecord(key, value, offset: offset) }
    }

    /// Notes that all records below the offset were read.
    package mutating func reached(_ end: Int64) {
        guard case .awaiting(let wanted) = standing, end > wanted.offset else { return }
        standing = .doubtful(Self.gone(wanted))
    }

    /// Returns the newest record for `Applied`. Throws if the file must be rebuilt.
    package func confirmed(_ path: String) throws(StoreError) -> LastRecord? {
        if case .doubtful(let why) = standing { throw .corrupt(path: path, what: why) }
        return last
    }

    private static func gone(_ wanted: LastRecord) -> String {
        "record \(wanted.offset), the last one that was applied, no longer exists; "
            + "the topic was recreated, or much was written since"
    }
}
