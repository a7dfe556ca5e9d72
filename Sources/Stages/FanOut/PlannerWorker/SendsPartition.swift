internal import Lifecycle
internal import StageSupport
internal import Topics

/// One assigned partition of `sends`, `sends.timed` and `subscriptions`.
struct SendsPartition: PositionedPartition {
    let partition: Int32
    var state = PartitionState.restoring
    var restoringSince: Instant
    var positions = ReadPositions()
    /// Whether the first walk since the assignment is complete. Then all held sends are known, and the notes
    /// are repeated.
    var isScanned = false

    init(partition: Int32, assignedAt now: Instant) {
        self.partition = partition
        restoringSince = now
    }

    var name: String { "partition \(partition) of sends" }
}

/// The topics that the planner reads, in the order of its subscription.
enum PlannerInputTopic: CaseIterable {
    case sends
    case timed
    case subscriptions

    /// Subscription number 0 did not read the topic `subscriptions`.
    static let subscription = TopicSubscription(topics: allCases.map(\.name), number: 1)

    var name: TopicName {
        switch self {
        case .sends: .sends
        case .timed: .sendsTimed
        case .subscriptions: .subscriptions
        }
    }
}
