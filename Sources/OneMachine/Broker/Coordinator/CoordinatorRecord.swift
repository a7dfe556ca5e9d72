/// One record of a coordinator's compacted topic; a nil value deletes the key.
struct CoordinatorRecord: Sendable, Equatable {
    let key: [UInt8]
    let value: [UInt8]?

    /// The outcome of reading a record. A record of a newer release is skipped and counted; it never
    /// prevents a start.
    enum RestoreResult: Equatable, Sendable {
        case applied
        case unknownVersion
        case malformed
    }
}

/// The id of an append that an answer waits for. Appends reach the log in the order of their ids, and
/// `appendSucceeded` is called in that order.
struct PersistID: Hashable, Sendable, Comparable {
    let number: UInt64

    init(_ number: UInt64) { self.number = number }

    static func < (a: PersistID, b: PersistID) -> Bool { a.number < b.number }
}
