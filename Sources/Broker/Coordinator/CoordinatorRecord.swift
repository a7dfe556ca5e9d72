/// One record of a coordinator's compacted topic; a nil value deletes the key.
struct CoordinatorRecord: Sendable, Equatable {
    let key: [UInt8]
    let value: [UInt8]?

    /// Whether the record belongs to this reader, and if so, whether it could be read. A record of a
    /// newer release is passed over and counted, never a reason to refuse the start.
    enum Restored: Equatable, Sendable {
        case applied
        case unknownVersion
        case malformed
    }
}

/// Names one append that an answer waits for. Appends reach the log in the order of their numbers,
/// and `persisted` is told in that order.
struct PersistID: Hashable, Sendable, Comparable {
    let number: UInt64

    init(_ number: UInt64) { self.number = number }

    static func < (a: PersistID, b: PersistID) -> Bool { a.number < b.number }
}
