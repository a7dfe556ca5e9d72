internal import Lifecycle
internal import StageSupport
internal import Topics

/// One assigned partition of `schedules` and `schedules.auto`, with its timers.
struct ScheduledPartition: PositionedPart {
    let partition: Int32
    var condition = PartCondition.restoring
    var restoringSince: Instant
    var positions = ReadPositions()
    var window = DueWindow()
    var unread = UnreadTimers()
    var heard = HeardOrders()
    var lately = LatelyFired()

    init(_ partition: Int32, at now: Instant) {
        self.partition = partition
        restoringSince = now
    }

    var name: String { "partition \(partition) of schedules" }

    mutating func reached(_ offset: Int64, in topic: Int) {
        positions[topic].reached(offset)
        if topic == ScheduledTopic.schedules.index { heard.reached(offset) }
    }

    /// Forgets the timers, because the loop reads them again.
    mutating func forgetTimers() { (window, unread, heard) = (DueWindow(), UnreadTimers(), HeardOrders()) }
}

/// The topics that the scheduler reads, in the order of its subscription.
enum ScheduledTopic: CaseIterable {
    case schedules
    case auto

    var name: TopicName { self == .schedules ? .schedules : .schedulesAuto }

    /// - Parameter index: the topic's index in the subscription.
    init(index: Int) { self = index == 0 ? .schedules : .auto }

    var index: Int { self == .schedules ? 0 : 1 }
}
