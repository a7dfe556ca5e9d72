internal import JSON
package import Kafka
package import Lifecycle
internal import LiveActivity
package import Telemetry

/// A reader that follows `members`. Confined to its loop.
package final class MembersReader: EventHandler {
    /// The interval between polls. A consumer must be polled even if no records arrive.
    private static let pollMilliseconds = 1000
    /// The time for which the cluster holds a fetch open.
    private static let fetchMilliseconds = 2000
    /// The pause after a failure.
    private static let pauseMilliseconds = 200

    package private(set) var table = MemberTable()
    /// The table of a new consumer that has not reached the end. Until then the previous table stays valid.
    private var unfinished: MemberTable?
    private let settings: KafkaSettings
    private let place: TopicPartition
    private let loop: EventLoop
    private let log: Log
    private let metrics: Metrics
    private let reader = JSONReader()
    private var consumer: Consumer?
    private var batch = RecordBatch()
    private var timer: LoopTimer?
    /// Whether a failure was logged since the last successful read.
    private var isTroubled = false
    /// Gets what processes say of themselves, in the order of the topic.
    package var onFacts: ((ProcessFacts) -> Void)?

    package init(_ settings: KafkaSettings, topic: String, on loop: EventLoop, log: Log, metrics: Metrics) {
        self.settings = settings
        place = TopicPartition(topic, 0)
        self.loop = loop
        self.log = log
        self.metrics = metrics
    }

    /// Starts to read. Must be called on the loop.
    package func begin() {
        timer = LoopTimer(on: loop) { [unowned self] in ready(.readable) }
        timer?.schedule(at: loop.now)
    }

    package func ready(_ readiness: Readiness) {
        var pause = Self.pollMilliseconds
        do {
            let consumer = try connected()
            let events = consumer.poll(into: &batch, waitMilliseconds: 0)
            if !batch.isEmpty { isTroubled = false }
            for index in 0..<batch.count { hear(batch[index]) }
            batch.clear()
            for event in events {
                switch event {
                case .end:
                    if let unfinished { table = unfinished }
                    unfinished = nil
                    isTroubled = false
                case .failed(.rebuild(let error)): throw error
                case .failed(let failure): tell("\(failure)")
                case .offered, .revoked, .lost, .suspended, .committed, .answered: break
                }
            }
        } catch {
            tell("\(error)")
            drop()
            pause = Self.pauseMilliseconds
        }
        timer?.schedule(at: Instant.now().advanced(byMilliseconds: pause))
    }

    private func tell(_ trouble: String) {
        if isTroubled { return }
        isTroubled = true
        log.warning("cannot read the owners of lanes from members", .field("error", trouble))
    }

    private func hear(_ record: borrowing Kafka.Record) {
        guard let key = [UInt8](copying: record.key) else { return }
        let value = [UInt8](copying: record.value)
        if let onFacts, let value, RecordKey.split(key)?.first == ProcessFacts.word,
            let facts = try? ProcessFacts.decode(value, with: reader)
        {
            onFacts(facts)
        }
        if unfinished?.apply(key, value, with: reader) == nil { table.apply(key, value, with: reader) }
    }

    private func connected() throws -> Consumer {
        if let consumer { return consumer }
        var options = ConsumerOptions(.manual)
        // A compacted topic keeps the newest record of each key, wherever it begins.
        options.outOfRange = .earliest
        options.prefetchKibibytesMax = 1024
        // New records come at once, but there may be none for hours.
        options.fetchWaitMilliseconds = Self.fetchMilliseconds
        let made = try Consumer(settings, options, name: "members", log: log, metrics: metrics)
        if table != MemberTable() { unfinished = MemberTable() }
        try made.assign([PartitionStart(place, .beginning)])
        try loop.register(made.descriptor, for: .readable, self)
        consumer = made
        return made
    }

    private func drop() {
        batch.clear()
        guard let consumer else { return }
        loop.deregister(consumer.descriptor)
        _ = consumer.close(withinMilliseconds: 500)
        self.consumer = nil
    }

    package func loopEnds() {
        timer?.cancel()
        timer = nil
        drop()
    }
}
