package import Settings
package import Store

/// The bounds of the stage, each with what happens at it.
package struct SchedulerSettings: OperatorSettings {
    /// Orders of one transaction; what is beyond waits for the next one.
    package var batchOrdersMax = 1000
    /// Bytes of orders of one transaction.
    package var batchBytesMax = 8 << 20
    /// Timers that one transaction fires, the oldest first; the others are next.
    package var firesMax = 2000
    /// Timers that fire in a second; those that are late wait for their turn.
    package var firesPerSecond = 100_000
    /// How long firing is held after a clock has jumped.
    package var holdMilliseconds = FiringClock.holdMilliseconds
    /// Timers that are committed and not yet read back; beyond it reading orders pauses.
    package var overlayRowsMax = 20_000
    /// Bytes of them; beyond it the same.
    package var overlayBytesMax = 16 << 20
    package var sessionMilliseconds = 10_000
    package var viewLimits = Limits()

    package init() {}

    package static let declared = SettingsGroup(defaults: SchedulerSettings()) { declare in
        declare(
            "scheduler.batch-orders", sets: \.batchOrdersMax, in: 1...10_000,
            "the most orders that one transaction takes")
        declare(
            "scheduler.batch-timers", sets: \.firesMax, in: 1...10_000,
            "the most timers that one transaction fires, the oldest first")
        declare(
            "scheduler.timers-per-second", sets: \.firesPerSecond, in: 10...1_000_000,
            "the most timers that a process fires in a second; those that are late wait for their turn")
        declare(
            "scheduler.clock-hold", sets: \.holdMilliseconds, as: Milliseconds.self, in: 0...600_000,
            "how long no timer fires after a clock has jumped by more than 5 s")
        declare(
            "scheduler.overlay-rows", sets: \.overlayRowsMax, in: 1000...1_000_000,
            "timers committed and not yet read back; beyond it reading orders waits")
    }
}
