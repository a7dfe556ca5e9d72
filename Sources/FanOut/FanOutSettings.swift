package import Settings
package import Store

/// The bounds of the stage, each with what happens at it.
package struct FanOutSettings: OperatorSettings {
    /// Sends of one planner's transaction; what is beyond waits for the next one.
    package var batchSendsMax = 2000
    /// Bytes of sends of one transaction.
    package var batchBytesMax = 8 << 20
    /// Groups that are committed and not yet read back; beyond it reading sends pauses.
    package var overlayRowsMax = 100_000
    /// Bytes of them; beyond it the same.
    package var overlayBytesMax = 24 << 20
    /// What the Kafka library fetches ahead of each loop; in memory small records are several times as much.
    package var prefetchKibibytesMax = 8192
    /// Of one partition in one answer of a broker, as it comes, which is compressed: answers have some of each.
    package var partitionKibibytesMax = 256
    /// The same of a lane's expansions: about as many as the expander reads ahead of a lane. What comes behind them it
    /// would have to throw away, and others' lanes would wait for it and fall behind.
    package var laneKibibytesMax = 32
    /// How often every group is looked at for what has expired.
    package var sweepMilliseconds = 3_600_000
    /// How long a transaction of the expander may take; its pages grow and shrink to it.
    package var pageMilliseconds = 100
    /// Tokens of the first page, before it is known what a page takes.
    package var pageRowsAtStart = 10_000
    /// Jobs on one sheet.
    package var jobsPerSheet = 256
    package var sessionMilliseconds = 10_000
    package var viewLimits = Limits()

    package init() {}

    package static let declared = SettingsGroup(defaults: FanOutSettings()) { declare in
        declare(
            "fan-out.batch-sends", sets: \.batchSendsMax, in: 1...20_000,
            "the most sends that one transaction of the planner takes")
        declare(
            "fan-out.overlay-rows", sets: \.overlayRowsMax, in: 1000...10_000_000,
            "groups committed and not yet read back; beyond it reading sends waits")
        declare(
            "fan-out.sweep-interval", sets: \.sweepMilliseconds, as: Milliseconds.self, in: 1000...86_400_000,
            "how often every group is looked at for what nobody needs any more")
        declare(
            "fan-out.page-time", sets: \.pageMilliseconds, as: Milliseconds.self, in: 10...5000,
            "how long a transaction that writes jobs may take; more is cheaper, and single sends wait longer")
        declare(
            "jobs.per-sheet", sets: \.jobsPerSheet, in: 1...1000,
            "the most jobs that one record of jobs holds; with 1 each job is a record")
    }
}
