package import Kafka

/// The loop that reads as a member of a group. The `GroupMember` calls it, on the loop's thread.
package protocol GroupMemberOwner: AnyObject {
    /// These partitions are assigned, and no others. Nothing of them has been read.
    func partitionsAssigned(_ numbers: [Int32])
    /// All partitions were revoked or lost.
    func partitionsRevoked() throws
    /// Whether the loop has all files and other data that restoring needs. The member asks in each iteration, because
    /// the loop opens one file at a time.
    func isReadyToRestore(_ numbers: [Int32]) throws -> Bool
    /// Begins to read the state that the records of the partitions need, up to the ends as they are now. The loop calls
    /// `startServing` when a partition has its state.
    ///
    /// - Parameter offsets: the group's committed offsets in the `followedTopics`.
    func startRestoring(_ numbers: [Int32], followedOffsets offsets: [CommittedOffset]) throws
    /// The records of the partition are served from now on.
    func partitionStartedServing(_ partition: Int32)
    /// The newest committed offsets of the `followedTopics`.
    var followedOffsets: [OffsetToCommit] { get }
}

extension GroupMemberOwner {
    package var followedOffsets: [OffsetToCommit] { [] }
}
