internal import Lifecycle
internal import StageSupport
internal import Topics

/// One assigned partition of `sends` and `sends.timed`.
struct PlannedPartition: OwnedPart {
    let partition: Int32
    var condition = PartCondition.restoring
    var restoringSince: Instant
    /// The committed position in each topic.
    var positions: [PlannedTopic: ReadPosition] = [:]
    /// Whether the first walk since the assignment is complete. Then all held sends are known, and the notes
    /// are repeated.
    var isWalked = false

    init(_ partition: Int32, at now: Instant) {
        self.partition = partition
        restoringSince = now
    }

    var name: String { "partition \(partition) of sends" }

    func next(in topic: Int) -> Int64? { positions[PlannedTopic(index: topic)]?.committed }

    mutating func reached(_ offset: Int64, in topic: Int) {
        positions[PlannedTopic(index: topic), default: ReadPosition()].reached(offset)
    }

    mutating func begin(at offset: Int64?, in topic: Int) {
        positions[PlannedTopic(index: topic), default: ReadPosition()].begin(at: offset)
    }
}

/// The topics that the planner reads, in the order of its subscription.
enum PlannedTopic: CaseIterable {
    case sends
    case timed

    var name: TopicName { self == .sends ? .sends : .sendsTimed }

    /// - Parameter index: the topic's index in the subscription.
    init(index: Int) { self = index == 0 ? .sends : .timed }
}
