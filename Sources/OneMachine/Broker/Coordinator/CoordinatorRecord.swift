/// One record of a coordinator's compacted topic. The newest record of a key is the state, and a nil value
/// deletes the key.
///
/// A key consists of a kind and of names, and a value of a format version and of facts. Both have the compact
/// encoding of Kafka's protocol. For example, the key `[0, 2, 4, "abc"]` has kind 2 and the name `abc`, whose
/// length plus one comes first.
package struct CoordinatorRecord: Sendable, Equatable {
    package let key: [UInt8]
    package let value: [UInt8]?

    /// The outcome of reading a record. A record of a newer release is skipped and counted; it never
    /// prevents a start.
    package enum RestoreResult: Equatable, Sendable {
        case applied
        /// The kind or the format version is unknown.
        case unknownVersion
        case malformed
    }

    /// Returns a key with the names that `writeNames` writes.
    package static func key(kind: Int16, writeNames: (inout WireWriter) -> Void) -> [UInt8] {
        var writer = WireWriter(capacity: 64, encoding: .compact)
        writer.int16(kind)
        writeNames(&writer)
        return writer.copied()
    }

    /// Returns a value with the facts that `writeFacts` writes.
    package static func value(formatVersion: Int16, writeFacts: (inout WireWriter) -> Void) -> [UInt8] {
        var writer = WireWriter(capacity: 256, encoding: .compact)
        writer.int16(formatVersion)
        writeFacts(&writer)
        return writer.copied()
    }
}

/// The id of an append to a coordinator's topic. Appends reach the log in the order of their ids, and
/// `appendSucceeded` is called in that order.
package struct AppendID: Hashable, Sendable, Comparable {
    package let number: UInt64

    package init(_ number: UInt64) { self.number = number }

    package static func < (left: AppendID, right: AppendID) -> Bool { left.number < right.number }
}
