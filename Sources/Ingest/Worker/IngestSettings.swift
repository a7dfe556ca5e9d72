package import Settings
package import Store

/// The bounds of the stage, each with what happens at it.
package struct IngestSettings: OperatorSettings {
    /// Reports of one transaction; what is beyond waits for the next one.
    package var batchRecordsMax = 10_000
    /// Bytes of reports of one transaction.
    package var batchBytesMax = 8 << 20
    /// Records that one transaction writes: it ends after the report with which they are reached, and the
    /// next one takes the rest of the batch.
    package var outputRecordsMax = BatchOutput.recordsMax
    /// How long a batch that is not full waits for more reports before it is merged.
    package var batchMilliseconds = 5
    /// Installations that are committed and not yet read back; beyond it reading reports pauses.
    package var overlayRowsMax = 100_000
    /// Bytes of them, and of those that were repeated; beyond it the same.
    package var overlayBytesMax = 64 << 20
    /// How often every installation is looked at for what has expired.
    package var sweepMilliseconds = 3_600_000
    /// For how long an installation that has nothing to start with is remembered after its last word.
    package var tokenlessMilliseconds = Int(Retention.tokenlessMilliseconds)
    /// For how long the installations of an app that the catalogue has lost are kept.
    package var deletedAppMilliseconds = 86_400_000
    package var sessionMilliseconds = 10_000
    package var viewLimits = Limits()

    package init() {}

    package static let declared = SettingsGroup("ingest", defaults: IngestSettings()) { declare in
        declare(
            "batch-records", sets: \.batchRecordsMax, in: 1...20_000,
            "the most reports that one transaction takes")
        declare(
            "batch-wait", sets: \.batchMilliseconds, as: Milliseconds.self, in: 0...1000,
            "how long a batch that is not full waits for more reports")
        declare(
            "overlay-rows", sets: \.overlayRowsMax, in: 1000...10_000_000,
            "installations committed and not yet read back; beyond it reading reports waits")
        declare(
            "sweep-interval", sets: \.sweepMilliseconds, as: Milliseconds.self, in: 1000...86_400_000,
            "how often every installation is looked at for tokens that have expired")
        declare(
            "forget-tokenless", sets: \.tokenlessMilliseconds, as: Milliseconds.self,
            in: 14 * 86_400_000...3650 * 86_400_000,
            "how long an installation is remembered that has no token to start with, after its last word")
        declare(
            "forget-deleted-apps", sets: \.deletedAppMilliseconds, as: Milliseconds.self,
            in: 60_000...365 * 86_400_000,
            "how long the installations of an app are kept that is not in the catalogue any more")
    }
}
