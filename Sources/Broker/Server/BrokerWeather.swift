package import Lifecycle

/// What a test lets clients meet although nothing is broken: a cluster whose controller, leaders and
/// coordinators need time to know what was decided. Injected, as `ResponseFaults` are; the product has none,
/// and everything is known at once. Asked on the broker's loop.
package protocol BrokerWeather: Sendable {
    func created(_ topic: String, at now: Instant)
    /// For how long a topic stays although its deletion was answered.
    func lingersMilliseconds(_ topic: String, at now: Instant) -> Int
    func sight(of topic: String, at now: Instant) -> TopicSight
    /// Why the leader of a partition serves nobody now; nil when it does.
    func refusal(byLeaderOf topic: String, _ partition: Int32, at now: Instant) -> ErrorCode?
    /// Why a coordinator does not take a request now; nil when it does.
    func refusal(by coordinator: CoordinatorCall, at now: Instant) -> ErrorCode?
}

/// How much of a topic the metadata shows.
package enum TopicSight: Sendable, Equatable {
    case unknown
    /// The partitions are there, and nobody leads them.
    case leaderless
    case whole
}

/// What somebody wants of a coordinator.
package enum CoordinatorCall: Sendable, Equatable {
    case findGroup
    case findTransaction
    case group(String)
    case transaction(id: String)
    /// The id's transaction ends with this; what follows at once may find it still ending.
    case end(id: String)
}
