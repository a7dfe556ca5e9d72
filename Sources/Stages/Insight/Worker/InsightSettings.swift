internal import Kafka
package import Settings
package import Store

/// The settings of the stage. Each limit names the behavior at the limit.
package struct InsightSettings: OperatorSettings {
    /// The limit of records in one batch. Further ones wait for the next batch.
    package var batchRecordsMax = 5000
    /// The limit of bytes in one batch, with headers. Further ones wait for the next batch.
    package var batchBytesMax = 16 << 20
    /// The limit of records that the Kafka library fetches ahead. At the limit it waits until some are
    /// written. It is low, because the library does not count headers, and the receipt of a full sheet has
    /// tens of kibibytes in a header.
    package var prefetchRecordsMax = 1000
    /// The size of one broker answer, in compressed form. Receipts compress to about an eighth. The rest
    /// comes with the next answer.
    package var fetchKibibytesMax = 1024
    /// The size of one partition's part of an answer, so that each answer serves several partitions.
    package var partitionKibibytesMax = 128
    /// The retention of job results. The topic does not keep them longer.
    package var receiptsRetentionMilliseconds = 7 * 86_400_000
    /// The retention of events and their counts. The topic does not keep them longer.
    package var eventsRetentionMilliseconds = 30 * 86_400_000
    /// The address at which this process listens for queries.
    package var listen = HostPort(host: "127.0.0.1", port: 0)
    /// The address that other processes use. Nil means the address of `listen`.
    package var address: HostPort?
    /// The time that a query waits for other processes. After it the answer lacks their lanes.
    package var queryMilliseconds = 2000
    package var sessionMilliseconds = ConsumerOptions.sessionMillisecondsDefault
    package var viewLimits = EnvironmentLimits()

    package init() {}

    /// Returns how long rows of a topic are kept, or nil if they stay as long as in the topic.
    func retentionMilliseconds(of topic: InsightTopic) -> Int64? {
        switch topic {
        case .receipts, .progress: Int64(receiptsRetentionMilliseconds)
        case .events: Int64(eventsRetentionMilliseconds)
        case .audit, .auditSends: topic.ageMaxMilliseconds
        // Only erasures have a time here. They must last as long as events from before them.
        case .installations: Int64(eventsRetentionMilliseconds)
        case .groups, .timers: nil
        }
    }

    package static let declared = SettingsGroup(prefix: "insight", defaults: InsightSettings()) { declare in
        declare(
            "batch-records", sets: \.batchRecordsMax, in: 1...20_000,
            "the most records that are entered in one step")
        declare(
            "keep-receipts", sets: \.receiptsRetentionMilliseconds, as: Milliseconds.self,
            in: 3_600_000...7 * 86_400_000,
            "how long the reports of sends and the pushes to people are kept")
        declare(
            "keep-events", sets: \.eventsRetentionMilliseconds, as: Milliseconds.self,
            in: 3_600_000...30 * 86_400_000,
            "how long events and their counts are kept")
        declare(
            "listen", sets: \.listen,
            "the address for questions of gateways and other processes of the stage, protected by a secret in `members`, and beyond loopback by TLS; port 0 lets the system choose"
        )
        declare(
            "address", sets: \.address,
            "the host and port at which others reach this process, if it is not the listen address"
        )
        declare(
            "ask-limit", sets: \.queryMilliseconds, as: Milliseconds.self, in: 100...4000,
            "how long an answer waits for other processes; it reports their lanes as missing")
    }
}
