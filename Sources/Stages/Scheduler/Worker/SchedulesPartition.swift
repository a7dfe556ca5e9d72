internal import Lifecycle
internal import StageSupport
internal import Topics

/// One assigned partition of `schedules` and `schedules.auto`, with its timers.
struct SchedulesPartition: PositionedPartition {
    let partition: Int32
    var state = PartitionState.restoring
    var restoringSince: Instant
    var positions = ReadPositions()
    /// The next timers, for firing.
    var upcomingTimers = UpcomingTimers()
    /// The timers that the view may not have yet, for the lookup of an owner's timers.
    var unreadTimers = UnreadTimers()
    var orderProgress = OrderReadProgress()
    var recentlyFiredTimers = RecentlyFiredTimers()

    init(partition: Int32, assignedAt now: Instant) {
        self.partition = partition
        restoringSince = now
    }

    var name: String { "partition \(partition) of schedules" }

    mutating func markCommitted(below offset: Int64, in topic: Int) {
        positions[topic].markCommitted(below: offset)
        if topic == SchedulerInputTopic.schedules.index { orderProgress.advance(to: offset) }
    }

    /// Forgets the timers, because the loop reads them again. The timers that have fired stay known.
    mutating func resetTimers() {
        (upcomingTimers, unreadTimers, orderProgress) = (
            UpcomingTimers(), UnreadTimers(), OrderReadProgress()
        )
    }
}

/// The topics that the scheduler reads, in the order of its subscription.
enum SchedulerInputTopic: CaseIterable {
    case schedules
    case automaticEnds

    var name: TopicName { self == .schedules ? .schedules : .schedulesAuto }

    /// - Parameter index: the topic's index in the subscription.
    init(index: Int) { self = index == 0 ? .schedules : .automaticEnds }

    var index: Int { self == .schedules ? 0 : 1 }
}
