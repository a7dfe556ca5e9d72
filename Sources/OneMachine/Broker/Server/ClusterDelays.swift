package import Lifecycle

/// The delays of a healthy cluster, whose controller, leaders and coordinators need time to learn of a
/// decision. A test injects them, as it injects `ResponseFaults`; the product has none. Called on the
/// broker's loop.
package protocol ClusterDelays: Sendable {
    func topicWasCreated(_ topic: String, at now: Instant)
    /// Returns for how long a topic stays after its deletion was answered.
    func deletionDelayMilliseconds(ofTopic topic: String, at now: Instant) -> Int
    func visibility(of topic: String, at now: Instant) -> TopicVisibility
    /// Returns the error of a partition's leader that refuses requests now, or nil.
    func refusal(byLeaderOf topic: String, partition: Int32, at now: Instant) -> ErrorCode?
    /// Returns the error of a partition that takes no records now, although its leader serves; nil if it takes them.
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
    /// This request ends the id's transaction. The next request may find it still ending.
    case end(id: String)
}
