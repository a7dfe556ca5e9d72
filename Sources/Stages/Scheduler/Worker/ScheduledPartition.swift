internal import Lifecycle
internal import StageSupport
internal import Topics

/// One assigned partition of `schedules` and `schedules.auto`, with its timers.
struct ScheduledPartition: OwnedPart {
    let partition: Int32
    var condition = PartCondition.restoring
    var restoringSince: Instant
    /// The committed position in each topic.
    var positions: [ScheduledTopic: ReadPosition] = [:]
    var window = DueWindow()
    var unread = UnreadTimers()
    var heard = HeardOrders()
    var lately = LatelyFired()

    init(_ partition: Int32, at now: Instant) {
        self.partition = partition
        restoringSince = now
    }

    var name: String { "partition \(partition) of schedules" }

    func next(in topic: Int) -> Int64? { positions[ScheduledTopic(index: topic)]?.committed }

    mutating func begin(at offset: Int64?, in topic: Int) {
        positions[ScheduledTopic(index: topic), default: ReadPosition()].begin(at: offset)
    }

    mutating func reached(_ offset: Int64, in topic: Int) {
        reached(offset, in: ScheduledTopic(index: topic))
    }

    /// Forgets the timers, because the loop reads them again.
    mutating func forgetTimers() { (window, unread, heard) = (DueWindow(), UnreadTimers(), HeardOrders()) }

    mutating func reached(_ offset: Int64, in topic: ScheduledTopic) {
        positions[topic, default: ReadPosition()].reached(offset)
        if topic == .schedules { heard.reached(offset) }
    }
}

/// The topics that the scheduler reads, in the order of its subscription.
enum ScheduledTopic: CaseIterable {
    case schedules
    case auto

    var name: TopicName { self == .schedules ? .schedules : .schedulesAuto }

    /// - Parameter index: the topic's index in the subscription.
    init(index: Int) { self = index == 0 ? .schedules : .auto }
}
