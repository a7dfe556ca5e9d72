package import Lifecycle

/// The delays that a test injects to make this broker behave like a cluster, in which it takes time until
/// all nodes know of a decision. The product has none. Called on the broker's loop.
package protocol ClusterDelays: Sendable {
    /// Called when a topic was created. The delay of its visibility begins then.
    func topicWasCreated(_ topic: String, at now: Instant)
    /// Returns for how long a topic stays after its deletion was answered.
    func deletionDelayMilliseconds(ofTopic topic: String, at now: Instant) -> Int
    /// Returns the part of a topic that the metadata shows now.
    func visibility(of topic: String, at now: Instant) -> TopicVisibility
    /// Returns the error of a partition's leader that refuses requests now, or nil.
    func refusal(byLeaderOf topic: String, partition: Int32, at now: Instant) -> ErrorCode?
    /// Returns the error of a partition that takes no records now, although its leader serves; nil if it
    /// takes them.
    func refusal(ofAppendTo topic: String, partition: Int32, at now: Instant) -> ErrorCode?
    /// Returns the error of a coordinator that refuses a request now, or nil.
    func refusal(by coordinator: CoordinatorCall, at now: Instant) -> ErrorCode?
}

/// The part of a topic that the metadata shows.
package enum TopicVisibility: Sendable, Equatable {
    case unknown
    /// The partitions have no leader.
    case leaderless
    case whole
}

/// The kind of a request to a coordinator.
package enum CoordinatorCall: Sendable, Equatable {
    case findGroup
    case findTransaction
    case group(String)
    /// A member joins. A static member has an instance id.
    case join(group: String, instanceID: String?)
    case transaction(id: String)
    /// The request ends the transaction of the id. The next request may find that the end is not complete.
    case end(id: String)
}
