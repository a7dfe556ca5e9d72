package import Kafka

/// The loop that reads as a member of a group.
package protocol GroupMemberOwner: AnyObject {
    /// These are ours, and no others; nothing of them has been read.
    func assigned(_ numbers: [Int32])
    /// Nothing is ours any more.
    func letGo() throws
    /// Whether it has everything that reading needs, but for what topics tell. Asked each turn: it opens one file
    /// at a time.
    func isReadyToBegin(_ numbers: [Int32]) throws -> Bool
    /// Begins to read what the records need, up to the ends as they are now. The loop calls `serve` when that is
    /// there.
    ///
    /// - Parameter offsets: the group's own in the topics that are `followed`.
    /// - Returns: nil, or what does not work yet.
    func begin(_ numbers: [Int32], followed offsets: [CommittedOffset]) throws -> String?
}
