/// A record by which a topic is known again: its offset, and a sum over its key and value.
package struct LastRecord: Sendable, Hashable {
    package let offset: Int64
    package let sum: UInt32

    package init(offset: Int64, sum: UInt32) {
        self.offset = offset
        self.sum = sum
    }

    init(_ key: Span<UInt8>?, _ value: Span<UInt8>?, offset: Int64) {
        // A missing key or value is another thing than an empty one.
        var sum: UInt32 = 0
        if let key { sum = key.crc(from: 1) }
        if let value { sum = value.crc(from: ~sum) }
        self.init(offset: offset, sum: sum)
    }
}

/// Whether the topic is the one that the file was built from. A topic that was deleted and made anew has
/// the same name, and its end may be beyond the file's offset: only its records are others. So reading
/// begins at the last record that was applied, once more. When it comes again, the topic is the same;
/// when another comes, or none is there, the file is worth nothing. (A compacted topic keeps the newest
/// record of each key: the record is gone only when much was written since, and then a rebuild is no
/// large loss.)
package struct TopicIdentity: Sendable {
    private enum Standing: Sendable {
        case awaiting(LastRecord)
        case known
        case doubtful(String)
    }

    private var standing = Standing.known
    private var last: LastRecord?

    /// - Parameter applied: what the file holds, nil when it holds nothing.
    package init(_ applied: Applied?) {
        last = applied?.last
        if let last { standing = .awaiting(last) }
    }

    /// Where reading must begin; nil as soon as the applied offset will do.
    package var start: Int64? {
        if case .awaiting(let last) = standing { last.offset } else { nil }
    }

    /// Every record that is read, in the topic's order.
    package mutating func hear(_ key: Span<UInt8>?, _ value: Span<UInt8>?, offset: Int64) {
        if case .awaiting(let wanted) = standing {
            if offset < wanted.offset { return }
            let found = LastRecord(key, value, offset: offset)
            standing =
                found == wanted
                ? .known : .doubtful("record \(wanted.offset) of the topic is another one now")
            if offset > wanted.offset { standing = .doubtful(Self.gone(wanted)) }
        }
        if offset >= last?.offset ?? 0 { last = LastRecord(key, value, offset: offset) }
    }

    /// Everything below the offset has been read.
    package mutating func reached(_ end: Int64) {
        guard case .awaiting(let wanted) = standing, end > wanted.offset else { return }
        standing = .doubtful(Self.gone(wanted))
    }

    /// The newest record, for `Applied`; throws when the file must be built anew.
    package func confirmed(_ path: String) throws(StoreError) -> LastRecord? {
        if case .doubtful(let why) = standing { throw .corrupt(path: path, what: why) }
        return last
    }

    private static func gone(_ wanted: LastRecord) -> String {
        "record \(wanted.offset), the last that it has of the topic, is there no more; "
            + "the topic was made anew, or much has been written since"
    }
}
