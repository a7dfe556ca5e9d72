internal import Identifiers
internal import JSON
package import Kafka
package import Lifecycle
internal import RecordFormat
package import Telemetry

/// The reader of the topic `members`. It keeps `table` up to date. Confined to its loop.
package final class MembersReader: EventHandler {
    /// The interval between polls. A reader must be polled even if no records arrive.
    private static let pollMilliseconds = 1000
    /// The pause after a failure.
    private static let pauseMilliseconds = 200

    package private(set) var table = MemberTable()
    /// The table that a reader after a failure fills from the beginning. It replaces `table` at the topic's end.
    private var incompleteTable: MemberTable?
    private let cluster: Cluster
    private let partition: TopicPartition
    private let loop: EventLoop
    private let log: Log
    private let metrics: Metrics
    private let jsonReader = JSONReader()
    private var topicReader: PartitionReader?
    private var batch = RecordBatch()
    private var timer: LoopTimer?
    /// Whether a failure was logged since the last successful read.
    private var hasLoggedFailure = false
    /// Receives the facts of each process, in the order of the topic.
    package var onFacts: ((ProcessFacts) -> Void)?

    package init(cluster: Cluster, topic: String, on loop: EventLoop, log: Log, metrics: Metrics) {
        self.cluster = cluster
        partition = TopicPartition(topic, 0)
        self.loop = loop
        self.log = log
        self.metrics = metrics
    }

    /// Starts to read. Must be called on the loop.
    package func start() {
        timer = LoopTimer(on: loop) { [unowned self] in didBecomeReady(.readable) }
        timer?.schedule(at: loop.now)
    }

    package func didBecomeReady(_ readiness: Readiness) {
        var pause = Self.pollMilliseconds
        do {
            try poll()
        } catch {
            logFailure("\(error)")
            disconnect()
            pause = Self.pauseMilliseconds
        }
        timer?.schedule(at: Instant.now().advanced(byMilliseconds: pause))
    }

    private func poll() throws {
        let topicReader = try openReader()
        let events = topicReader.poll(into: &batch, waitMilliseconds: 0)
        if !batch.isEmpty { hasLoggedFailure = false }
        for index in 0..<batch.count { apply(batch[index]) }
        batch.clear()
        for event in events {
            switch event {
            case .reachedEnd:
                if let incompleteTable { table = incompleteTable }
                incompleteTable = nil
                hasLoggedFailure = false
            case .failed(.unusable(let error)): throw error
            case .failed(let failure): logFailure("\(failure)")
            case .offered, .revoked, .lost, .suspended, .committed, .queryCompleted: break
            }
        }
    }

    private func logFailure(_ message: String) {
        if hasLoggedFailure { return }
        hasLoggedFailure = true
        log.warning("cannot read the owners of lanes from members", .field("error", message))
    }

    private func apply(_ record: borrowing Kafka.Record) {
        guard let key = [UInt8](copying: record.key) else { return }
        let value = [UInt8](copying: record.value)
        if let onFacts, let value, RecordKey.split(key)?.first == ProcessFacts.keyPrefix,
            let facts = try? ProcessFacts.decode(value, with: jsonReader)
        {
            onFacts(facts)
        }
        if incompleteTable != nil {
            incompleteTable?.apply(key: key, value: value, with: jsonReader)
        } else {
            table.apply(key: key, value: value, with: jsonReader)
        }
    }

    private func openReader() throws -> PartitionReader {
        if let topicReader { return topicReader }
        // A compacted topic keeps the newest record of each key, wherever it begins.
        let newReader = try cluster.makeReader(
            of: partition.topic, outOfRange: .earliest, log: log, metrics: metrics)
        let isAfterFailure = table != MemberTable()
        if isAfterFailure { incompleteTable = MemberTable() }
        newReader.assign(startingAt: [PartitionStart(partition: partition, position: .beginning)])
        try loop.register(newReader.descriptor, for: .readable, handler: self)
        topicReader = newReader
        return newReader
    }

    private func disconnect() {
        batch.clear()
        guard let topicReader else { return }
        loop.deregister(topicReader.descriptor)
        topicReader.close()
        self.topicReader = nil
    }

    package func loopWillEnd() {
        timer?.cancel()
        timer = nil
        disconnect()
    }
}
