internal import Kafka
package import Settings
internal import StageSupport
package import Store

/// The limits of the stage, each with the behavior at the limit.
package struct FanOutSettings: OperatorSettings {
    /// The most sends of one planner transaction. The next transaction takes the rest.
    package var batchSendsMax = 2000
    /// The most bytes of sends of one transaction.
    package var batchBytesMax = 8 << 20
    /// The number of failed transactions with only one send after which that send becomes a dead letter.
    package var loneSendTriesMax = 20
    /// The most rows of a loop that are committed and not yet read back. Above it the planner stops reading sends, and the
    /// expander stops expanding. Above half of it, walks wait.
    package var overlayRowsMax = 100_000
    /// The most bytes of these rows, with the same behavior.
    package var overlayBytesMax = 24 << 20
    /// The most groups of an app, in all partitions, that phones have named and no send has used. Beyond it,
    /// subscriptions to further groups are not stored, and the sends to unknown groups of the app go to all lanes.
    package var subscribedGroupsMax = 2_000_000
    /// The size that the Kafka library prefetches for each loop. In memory, small records take several times
    /// as much.
    package var prefetchKibibytesMax = 8192
    /// The size, still compressed, that one partition can take in a broker's answer. So an answer holds
    /// records of several partitions.
    package var partitionKibibytesMax = 256
    /// The size, still compressed, of one broker's answer.
    package var fetchKibibytesMax = 4096
    /// The same limit for a lane's expansions. It is about the amount that the expander reads ahead of a
    /// lane. The expander would discard any further records, while other lanes wait for them and fall behind.
    package var laneKibibytesMax = 32
    /// The interval at which all groups are checked for expired rows.
    package var sweepMilliseconds = 3_600_000
    /// The approximate longest duration of an expander transaction. It walks for half of that time, because the commit
    /// takes about as long. A commit costs about the same for any size, so longer transactions are cheaper. But a small
    /// send waits for as long as one transaction lasts.
    package var pageMilliseconds = 100
    /// The most tokens of one transaction, which limits its memory.
    package var pageRowsMax = 100_000
    /// The most jobs on one sheet.
    package var jobsPerSheet = 256
    package var sessionMilliseconds = ConsumerOptions.sessionMillisecondsDefault
    package var viewLimits = EnvironmentLimits()

    package init() {}

    package static let declared = SettingsGroup(defaults: FanOutSettings()) { declare in
        declare(
            "fan-out.batch-sends", sets: \.batchSendsMax, in: 1...20_000,
            "the most sends that one transaction of the planner takes")
        declare(
            "fan-out.overlay-rows", sets: \.overlayRowsMax, in: 1000...10_000_000,
            "the most rows of each loop that are committed and not yet read back; beyond it, sends wait, and beyond half of it, walks"
        )
        declare(
            "fan-out.subscribed-groups", sets: \.subscribedGroupsMax, in: 1000...1_000_000_000,
            "the most groups of an app that only phones have named; beyond it, sends to further groups go to all lanes"
        )
        declare(
            "fan-out.sweep-interval", sets: \.sweepMilliseconds, as: Milliseconds.self, in: 1000...86_400_000,
            "the interval at which all groups are checked for rows that can be forgotten")
        declare(
            "fan-out.page-time", sets: \.pageMilliseconds, as: Milliseconds.self, in: 10...5000,
            "the approximate time of a transaction that writes jobs; longer is cheaper, but single sends wait longer"
        )
        declare(
            "jobs.per-sheet", sets: \.jobsPerSheet, in: 1...1000,
            "the most jobs that one record of jobs holds; with 1 each job is a record")
    }
}

extension LoopConfiguration {
    /// Takes the settings that both loops have.
    mutating func apply(_ settings: FanOutSettings, partitionKibibytesMax: Int) {
        viewLimits = settings.viewLimits
        sessionMilliseconds = settings.sessionMilliseconds
        prefetchKibibytesMax = settings.prefetchKibibytesMax
        self.partitionKibibytesMax = partitionKibibytesMax
        fetchKibibytesMax = settings.fetchKibibytesMax
    }
}
