internal import Lifecycle
internal import StageSupport
internal import Topics

/// One assigned partition of `sends` and `sends.timed`.
struct PlannedPartition: PositionedPart {
    let partition: Int32
    var condition = PartCondition.restoring
    var restoringSince: Instant
    var positions = ReadPositions()
    /// Whether the first walk since the assignment is complete. Then all held sends are known, and the notes
    /// are repeated.
    var isWalked = false

    init(_ partition: Int32, at now: Instant) {
        self.partition = partition
        restoringSince = now
    }

    var name: String { "partition \(partition) of sends" }
}

/// The topics that the planner reads, in the order of its subscription.
enum PlannedTopic: CaseIterable {
    case sends
    case timed

    var name: TopicName { self == .sends ? .sends : .sendsTimed }
}
