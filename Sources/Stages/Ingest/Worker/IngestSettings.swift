internal import Kafka
package import Settings
package import Store

/// The limits of ingest, each with the behavior at the limit.
package struct IngestSettings: OperatorSettings {
    /// The most reports in one transaction. The rest waits for the next one.
    package var batchRecordsMax = 10_000
    /// The most bytes of reports in one transaction.
    package var batchBytesMax = 8 << 20
    /// The most records that one transaction writes. The transaction ends after the report that reaches the limit, and
    /// the next transaction takes the rest of the batch.
    package var outputRecordsMax = IngestOutput.recordsMax
    /// The size of the reports that the Kafka library fetches ahead. The library counts only their values. In memory, a
    /// small report takes four times as much.
    package var prefetchKibibytesMax = 8192
    /// The most kibibytes of one broker's answer, and of one partition in it, still compressed. Reports compress to
    /// about a tenth, and an answer is decompressed at once.
    package var fetchKibibytesMax = 4096
    package var partitionKibibytesMax = 512
    /// The time for which a batch that is not full waits for more reports before it is merged.
    package var batchMilliseconds = 5
    /// The most installations that are committed and not yet read back. Beyond it, reading reports pauses.
    package var overlayRowsMax = 100_000
    /// The most bytes of installations that are committed and not yet read back, or whose newest times are only in
    /// memory. Beyond it, reading reports pauses.
    package var overlayBytesMax = 32 << 20
    /// The interval of the sweep that expires tokens of all installations.
    package var sweepMilliseconds = 3_600_000
    /// The time for which an installation without a start token is kept after its last report.
    package var tokenlessMilliseconds = Int(Retention.tokenlessMilliseconds)
    /// The time for which the installations of an app that is missing in the catalog are kept.
    package var deletedAppMilliseconds = 86_400_000
    /// The time after which the group gives up a silent process.
    package var sessionMilliseconds = ConsumerOptions.sessionMillisecondsDefault
    /// The limits of each view's file.
    package var viewLimits = EnvironmentLimits()

    package init() {}

    // MARK: Memory

    /// The part of the bound that no setting changes: the program, its Kafka clients with what they fetch ahead, the
    /// records of one transaction, and freed memory that the heaps keep.
    private static let fixedBytes = 192 << 20
    /// The memory of an overlay's row beside its key and record.
    private static let overlayRowBytes = 256
    /// The memory of a report in a batch, decoded and merged, beside the bytes that other limits count.
    private static let batchRecordBytes = 2048
    /// The pages of a view's largest transaction, which LMDB keeps, and the buffers of its rows.
    private static let partitionBytes = 4 << 20

    /// The most anonymous memory of a process (`RssAnon`) that runs only this stage and has this many partitions. The
    /// files of the views are mapped and do not count.
    package func anonymousBytesMax(partitions: Int) -> Int {
        Self.fixedBytes + 2 * overlayBytesMax + Self.overlayRowBytes * overlayRowsMax
            + Self.batchRecordBytes * batchRecordsMax + Self.partitionBytes * partitions
    }

    package static let declared = SettingsGroup(prefix: "ingest", defaults: IngestSettings()) { declare in
        declare(
            "batch-records", sets: \.batchRecordsMax, in: 1...20_000,
            "the most reports that one transaction takes")
        declare(
            "batch-wait", sets: \.batchMilliseconds, as: Milliseconds.self, in: 0...1000,
            "the least time for which an incomplete batch waits for more reports; under load up to 250 ms")
        declare(
            "overlay-rows", sets: \.overlayRowsMax, in: 1000...10_000_000,
            "the most installations that are committed and not yet read back; beyond it, reading reports pauses"
        )
        declare(
            "overlay-bytes", sets: \.overlayBytesMax, as: ByteSize.self, in: 1 << 20...16 << 30,
            "the most bytes of these installations and of repeated ones; beyond it, reading reports pauses")
        declare(
            "sweep-interval", sets: \.sweepMilliseconds, as: Milliseconds.self, in: 1000...86_400_000,
            "the interval at which all installations are checked for expired tokens")
        declare(
            "forget-tokenless", sets: \.tokenlessMilliseconds, as: Milliseconds.self,
            in: 14 * 86_400_000...3650 * 86_400_000,
            "the time for which an installation without a start token is kept after its last report")
        declare(
            "forget-deleted-apps", sets: \.deletedAppMilliseconds, as: Milliseconds.self,
            in: 60_000...365 * 86_400_000,
            "the time for which the installations of an app that is missing in the catalog are kept")
    }
}
