internal import JSON
internal import Kafka
internal import Telemetry

/// A reader of the topic `catalog` that applies the records to a snapshot: first from the beginning to the
/// end, and then each new record. Call `begin` until it succeeds, and `poll` whenever `descriptor` is readable.
/// Confined to one thread.
final class CatalogFollower {
    private let settings: KafkaSettings
    private let partition: TopicPartition
    private let topicReader: PartitionReader
    /// The client that asks for the current end of the topic. Nil until the first question.
    private var endProducer: Producer?
    private var batch = RecordBatch()
    private let jsonReader = JSONReader()
    private let log: Log
    private let metrics: CatalogMetrics
    /// The metrics for `endProducer`.
    private let clientMetrics: Metrics

    private(set) var catalog = CatalogSnapshot()
    /// The offset of the next record.
    private(set) var nextOffset: Int64 = 0
    /// The end of the topic at the beginning of the reading, or nil before the cluster has answered.
    private var end: Int64?
    /// Whether every record below `end` has been read.
    private(set) var isAtEnd = false

    init(_ cluster: Cluster, topic: String, log: Log, metrics: Metrics) throws {
        // A compacted topic keeps the newest record of each key, wherever it begins.
        topicReader = try cluster.makeReader(of: topic, outOfRange: .earliest, log: log, metrics: metrics)
        self.log = log
        settings = cluster.settings
        clientMetrics = metrics
        self.metrics = CatalogMetrics(in: metrics)
        partition = TopicPartition(topic, 0)
    }

    deinit {
        batch.clear()
        topicReader.close()
    }

    /// The descriptor that is readable when the reader has records or events.
    var descriptor: Int32 { topicReader.descriptor }

    /// Asks the cluster for the end of the topic and begins to read. Without the end, only an empty fetch would
    /// show that all records are read, and the cluster holds such a fetch open. After a success, further calls
    /// do nothing.
    func begin(withinMilliseconds limit: Int) throws(KafkaError) {
        if end != nil { return }
        let ends = try topicReader.watermarks(of: partition, withinMilliseconds: limit)
        topicReader.assign(startingAt: [PartitionStart(partition: partition, position: .beginning)])
        end = ends.high
        isAtEnd = ends.low == ends.high
    }

    /// Calls `begin` and logs a failure. Returns false if the caller should try again.
    func tryToBegin(withinMilliseconds limit: Int) -> Bool {
        do throws(KafkaError) {
            try begin(withinMilliseconds: limit)
            return true
        } catch {
            log.warning("cannot read the catalog", .field("error", error))
            return false
        }
    }

    /// Returns the current end of the topic. When all records below it are read, the catalog has every record
    /// that was acknowledged before this call. A separate client asks, because a question of the reader's client
    /// waits behind its fetch.
    func currentEnd(withinMilliseconds limit: Int) throws -> Int64 {
        let producer =
            try endProducer
            ?? Producer(settings: settings, name: "catalog-end", log: log, metrics: clientMetrics)
        endProducer = producer
        return try producer.watermarks(of: partition, withinMilliseconds: limit).high
    }

    /// Applies the available records. Returns true if the catalog may have changed. Throws if a new follower is
    /// needed.
    func poll(waitMilliseconds: Int32 = 0) throws -> Bool {
        let events = topicReader.poll(into: &batch, waitMilliseconds: waitMilliseconds)
        let hasRecords = !batch.isEmpty
        for index in 0..<batch.count { apply(batch[index]) }
        batch.clear()
        // If compaction removed the last records, no record reaches `end`. Then the end-of-partition event
        // decides.
        if hasRecords, let end, nextOffset >= end { isAtEnd = true }
        for event in events {
            switch event {
            case .reachedEnd(_, let offset):
                isAtEnd = true
                nextOffset = max(nextOffset, offset)
            case .failed(.unusable(let error)): throw error
            case .failed(let failure): log.warning("cannot read the catalog", .field("error", failure))
            default: break
            }
        }
        metrics.update(catalog)
        return hasRecords || !events.isEmpty
    }

    /// Applies one record to the catalog and counts its effect.
    private func apply(_ record: borrowing Record) {
        if record.offset < nextOffset {
            // The topic was deleted and created again, so the earlier records belong to the old topic. A new
            // topic that is as long as the old one cannot be detected, and needs a restart of the process.
            catalog = CatalogSnapshot()
            // The end of the new topic is unknown. The end-of-partition event shows it.
            end = .max
            isAtEnd = false
        }
        nextOffset = record.offset + 1
        let key = [UInt8](copying: record.key) ?? []
        let effect = catalog.apply(key: key, value: [UInt8](copying: record.value), with: jsonReader)
        metrics.count(effect)
        if case .unusable(let reason) = effect {
            log.error(
                "a catalog record is unusable; update this program or write the record again",
                .field("key", String(decoding: key, as: UTF8.self)), .field("reason", reason))
        }
    }
}
