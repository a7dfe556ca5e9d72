package import Settings
package import Store

/// The bounds of the stage, each with what happens at it.
package struct InsightSettings: OperatorSettings {
    /// Records of one batch; what is beyond waits for the next one.
    package var batchRecordsMax = 5000
    /// Bytes of one batch.
    package var batchBytesMax = 16 << 20
    /// How long what became of jobs is kept; the topic has it no longer, either.
    package var receiptsMilliseconds = 7 * 86_400_000
    /// How long events and their counts are kept; the topic has them no longer, either.
    package var eventsMilliseconds = 30 * 86_400_000
    package var sessionMilliseconds = 10_000
    package var viewLimits = Limits()

    package init() {}

    package static let declared = SettingsGroup("insight", defaults: InsightSettings()) { declare in
        declare(
            "batch-records", sets: \.batchRecordsMax, in: 1...20_000,
            "the most records that are entered in one step")
        declare(
            "keep-receipts", sets: \.receiptsMilliseconds, as: Milliseconds.self,
            in: 3_600_000...7 * 86_400_000,
            "how long reports of sends and pushes of people are kept")
        declare(
            "keep-events", sets: \.eventsMilliseconds, as: Milliseconds.self,
            in: 3_600_000...30 * 86_400_000,
            "how long events and their counts are kept")
    }
}
