package import Settings
package import Store

/// The bounds of the stage, each with what happens at it.
package struct InsightSettings: OperatorSettings {
    /// Records of one batch; what is beyond waits for the next one.
    package var batchRecordsMax = 5000
    /// Bytes of one batch, headers too; what is beyond waits for the next one.
    package var batchBytesMax = 16 << 20
    /// Records that the Kafka library fetches ahead; then it waits until some are entered. A receipt of a whole sheet
    /// has tens of kibibytes in a header, which the library does not count.
    package var prefetchRecordsMax = 1000
    /// Of one answer of a broker, compressed, as receipts are, to an eighth or so; the rest comes with the next.
    package var fetchKibibytesMax = 1024
    /// The same of one partition: each answer has some of several.
    package var partitionKibibytesMax = 128
    /// How long what became of jobs is kept; the topic has it no longer, either.
    package var receiptsMilliseconds = 7 * 86_400_000
    /// How long events and their counts are kept; the topic has them no longer, either.
    package var eventsMilliseconds = 30 * 86_400_000
    /// Where other processes ask this one.
    package var listen = HostPort(host: "127.0.0.1", port: 0)
    /// The address that others are told; nil where it is the one that is listened at.
    package var address: HostPort?
    /// How long an answer waits for other processes; it is then without their lanes.
    package var askMilliseconds = 2000
    package var sessionMilliseconds = 10_000
    package var viewLimits = Limits()

    package init() {}

    /// How long rows of a topic are kept; nil while the topic has them.
    func keptMilliseconds(_ topic: InsightTopic) -> Int64? {
        switch topic {
        case .receipts, .progress: Int64(receiptsMilliseconds)
        case .events: Int64(eventsMilliseconds)
        case .audit: topic.ageMaxMilliseconds
        // Of these, erasures alone have a time: they count as long as there may be events from before them.
        case .installations: Int64(eventsMilliseconds)
        case .groups, .timers: nil
        }
    }

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
        declare(
            "listen", sets: \.listen,
            "where gateways and other processes of the stage ask this one, with a secret that stands in `members`; port 0 lets the system choose"
        )
        declare(
            "address", sets: \.address,
            "the host and port by which others reach this process, where that is not the address it listens at"
        )
        declare(
            "ask-limit", sets: \.askMilliseconds, as: Milliseconds.self, in: 100...4000,
            "how long an answer waits for other processes; then it is without their lanes, and says so")
    }
}
