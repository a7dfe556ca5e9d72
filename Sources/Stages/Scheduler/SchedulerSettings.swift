internal import Kafka
package import Settings
package import Store

/// The limits of the scheduler, each with the behavior at the limit.
package struct SchedulerSettings: OperatorSettings {
    /// The most commands of one transaction. The next transaction takes the rest.
    package var batchCommandsMax = 1000
    /// The most bytes of commands of one transaction.
    package var batchBytesMax = 8 << 20
    /// The most timers that one transaction fires, the oldest first. The next transaction fires the rest.
    package var firesMax = 2000
    /// The most timers that fire in a second. Late timers wait for the next seconds.
    package var firesPerSecond = 100_000
    /// The time after which a jump of a clock is believed: the confirmation time of `ClusterClock`. Until
    /// then timers fire by the lower time.
    package var holdMilliseconds = 30_000
    /// The most timers that are committed and not yet read back. Above it the loop stops reading commands.
    package var overlayRowsMax = 20_000
    /// The most bytes of these timers. Above it the loop stops reading commands.
    package var overlayBytesMax = 16 << 20
    /// The time after which the group gives up a silent process.
    package var sessionMilliseconds = ConsumerOptions.sessionMillisecondsDefault
    /// The limits of each view's file.
    package var viewLimits = EnvironmentLimits()

    package init() {}

    package static let declared = SettingsGroup(defaults: SchedulerSettings()) { declare in
        declare(
            "scheduler.batch-commands", sets: \.batchCommandsMax, in: 1...10_000,
            "the most commands that one transaction takes")
        declare(
            "scheduler.batch-timers", sets: \.firesMax, in: 1...10_000,
            "the most timers that one transaction fires, the oldest first")
        declare(
            "scheduler.timers-per-second", sets: \.firesPerSecond, in: 10...1_000_000,
            "the most timers that a process fires in a second; late timers wait for the next seconds")
        declare(
            "scheduler.clock-hold", sets: \.holdMilliseconds, as: Milliseconds.self, in: 0...600_000,
            "the time after which a jump of a clock by more than 5 s is believed; until then timers fire by the lower time"
        )
        declare(
            "scheduler.overlay-rows", sets: \.overlayRowsMax, in: 1000...1_000_000,
            "the most timers that are committed and not yet read back; beyond it, reading commands pauses")
    }
}
