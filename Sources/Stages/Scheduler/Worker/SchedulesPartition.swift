internal import Lifecycle
internal import StageSupport

/// One assigned partition of `schedules` and `schedules.auto`, with its timers.
struct SchedulesPartition: PositionedPartition {
    let partition: Int32
    var state = PartitionState.restoring
    var restoringSince: Instant
    var positions = ReadPositions()
    // The timers, apart from the rows in the view and the overlay.

    /// The next timers, for firing.
    var upcomingTimers = UpcomingTimers()
    /// The timers that the view may not have yet, for the lookup of an owner's timers.
    var unreadTimers = UnreadTimers()
    /// Whether all cancels are known that win over a timer.
    var commandProgress = CommandReadProgress()
    var recentlyFiredTimers = RecentlyFiredTimers()

    init(partition: Int32, assignedAt now: Instant) {
        self.partition = partition
        restoringSince = now
    }

    var name: String { "partition \(partition) of schedules" }

    mutating func markCommitted(below offset: Int64, in topic: Int) {
        positions[topic].markCommitted(below: offset)
        if topic == SchedulerInputTopic.schedules.index { commandProgress.advance(to: offset) }
    }

    /// Forgets the timers, because the loop starts over and reads them again. The timers that have fired stay known.
    mutating func resetTimers() {
        (upcomingTimers, unreadTimers, commandProgress) = (
            UpcomingTimers(), UnreadTimers(), CommandReadProgress()
        )
    }
}
