internal import JSON
internal import Kafka
internal import Telemetry

/// Reads `catalog` from its beginning to its end, and goes on. Pinned to one thread.
final class CatalogFollower {
    /// How long the cluster holds a fetch open: what is new comes at once, and nothing new comes for hours.
    private static let fetchMilliseconds = 2000

    private let consumer: Consumer
    private let settings: KafkaSettings
    private let clientMetrics: Metrics
    /// Nil until somebody asked.
    private var asking: Producer?
    private var batch = RecordBatch()
    private let reader = JSONReader()
    private let log: Log
    private let metrics: CatalogMetrics
    private let place: TopicPartition
    private(set) var next: Int64 = 0
    /// Where the topic ended when it was asked; nil before the cluster has answered.
    private var end: Int64?
    private(set) var catalog = KnownCatalog()
    /// Everything that was in the topic when this began has been read.
    private(set) var isAtEnd = false

    /// - Parameter isAwaited: somebody waits for its end, which shows when a fetch comes back empty.
    init(
        _ settings: KafkaSettings, topic: String, isAwaited: Bool = false, log: Log, metrics: Metrics
    ) throws {
        var options = ConsumerOptions(.manual)
        options.fetchWaitMilliseconds = isAwaited ? 10 : Self.fetchMilliseconds
        // A compacted topic has its newest records, wherever it begins.
        options.outOfRange = .earliest
        options.prefetchKibibytesMax = 4096
        consumer = try Consumer(settings, options, name: "catalog", log: log, metrics: metrics)
        self.log = log
        self.settings = settings
        clientMetrics = metrics
        self.metrics = CatalogMetrics(metrics)
        place = TopicPartition(topic, 0)
    }

    /// Asks the cluster where the topic ends, and begins to read. To wait until a fetch comes back empty
    /// would take as long as the cluster holds one open. Once it has succeeded it does nothing.
    func begin(withinMilliseconds limit: Int) throws(KafkaError) {
        if end != nil { return }
        let ends = try consumer.watermarks(of: place, withinMilliseconds: limit)
        try consumer.assign([PartitionStart(place, .beginning)])
        end = ends.high
        isAtEnd = ends.low == ends.high
    }

    /// As `begin`, for one who tries again.
    func begins(withinMilliseconds limit: Int) -> Bool {
        do throws(KafkaError) {
            try begin(withinMilliseconds: limit)
            return true
        } catch {
            log.warning("cannot read the catalogue", .field("error", error))
            return false
        }
    }

    /// Where the topic ends now, that is, where a reader is who has read all that was acknowledged before. It is
    /// asked by another client: a consumer's question waits behind its own fetch, up to half a second.
    func presentEnd(withinMilliseconds limit: Int) throws -> Int64 {
        let asking = try asking ?? Producer(settings, name: "catalog-end", log: log, metrics: clientMetrics)
        self.asking = asking
        return try asking.watermarks(of: place, withinMilliseconds: limit).high
    }

    deinit {
        batch.clear()
        _ = consumer.close(withinMilliseconds: 1000)
    }

    var descriptor: Int32 { consumer.descriptor }

    /// Takes what is there. True when the catalog may be another; throws when this consumer is at its end.
    func poll(waitMilliseconds: Int32 = 0) throws -> Bool {
        let events = consumer.poll(into: &batch, waitMilliseconds: waitMilliseconds)
        let hasRecords = !batch.isEmpty
        for index in 0..<batch.count { hear(batch[index]) }
        batch.clear()
        // What was compacted away at the very end leaves no record to tell it by; then an end does.
        if hasRecords, let end, next >= end { isAtEnd = true }
        for event in events {
            switch event {
            case .end(_, let offset):
                isAtEnd = true
                next = max(next, offset)
            case .failed(.rebuild(let error)): throw error
            case .failed(let failure): log.warning("cannot read the catalogue", .field("error", failure))
            default: break
            }
        }
        metrics.update(catalog)
        return hasRecords || !events.isEmpty
    }

    private func hear(_ record: borrowing Record) {
        if record.offset < next {
            // The topic was deleted and made anew: what was read before is of another life. A new topic
            // that is as long as the old one looks like it; then a restart is needed.
            catalog = KnownCatalog()
            end = .max
            isAtEnd = false
        }
        next = record.offset + 1
        let key = [UInt8](copying: record.key) ?? []
        let effect = catalog.apply(key: key, value: [UInt8](copying: record.value), with: reader)
        metrics.took(effect)
        if case .unusable(let reason) = effect {
            log.error(
                "a catalogue record is kept out; update this program or write the record again",
                .field("key", String(decoding: key, as: UTF8.self)), .field("reason", reason))
        }
    }
}
