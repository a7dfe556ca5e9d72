import Glibc
import KafkaTesting
import Lifecycle
import Telemetry
import Testing

@testable import Kafka

// Helpers of the Kafka client's tests: a mock cluster with the topic `jobs`, and clients with short waits.

extension KafkaSettings {
    /// Sets short waits between retries, so that a test notices at once that a broker is back.
    init(_ cluster: MockCluster) {
        self.init(brokers: cluster.brokers)
        properties = ["topic.metadata.refresh.fast.interval.ms": "20", "retry.backoff.ms": "20"]
    }
}

extension MockCluster {
    /// Lets the next requests of this kind fail, one with each error, in order.
    func failNext(_ request: Request, with errors: KafkaErrorCode...) {
        for error in errors { failNext(request, with: error.rawValue) }
    }
}

/// Makes a mock cluster with a topic. Brokers are numbered from 1.
func makeCluster(brokers: Int = 3, topic: String = "jobs", partitions: Int = 4) throws -> MockCluster {
    let cluster = try #require(MockCluster(brokers: brokers))
    cluster.createTopic(named: topic, partitions: partitions, replication: brokers)
    return cluster
}

/// Makes a producer that sends each record at once.
func makeProducer(
    _ cluster: MockCluster, _ change: (inout ProducerOptions) -> Void = { _ in }
) throws -> Producer {
    var options = ProducerOptions()
    options.lingerMilliseconds = 0
    change(&options)
    return try Producer(
        settings: KafkaSettings(cluster), options: options, name: "test", log: .silent, metrics: Metrics())
}

/// Returns a reader of whole topics from their beginnings, without a group.
func makeReader(
    _ cluster: MockCluster, topic: String = "jobs", partitions: Int = 4,
    _ change: (inout ConsumerOptions) -> Void = { _ in }
) throws -> Consumer {
    var options = ConsumerOptions(membership: .manual)
    options.readsOpenTransactions = true
    change(&options)
    let consumer = try Consumer(
        settings: KafkaSettings(cluster), options: options, name: "test", log: .silent, metrics: Metrics())
    try consumer.assign(
        startingAt: (0..<Int32(partitions)).map {
            PartitionStart(partition: TopicPartition(topic, $0), position: .beginning)
        })
    return consumer
}

/// Repeats the check until it is true, without a pause, at most for the time limit. Returns whether it became true. A
/// check usually polls a client, which waits for a few milliseconds.
func eventually(within milliseconds: Int = 20_000, _ holds: () throws -> Bool) throws -> Bool {
    let deadline = Instant.now().advanced(byMilliseconds: milliseconds)
    while Instant.now() < deadline {
        if try holds() { return true }
    }
    return false
}

extension Producer {
    /// Sends a record, waits while the queue is full, and returns the last result.
    func put(
        key: String?, value: String?, to topic: Topic, partition: Int32? = nil, tag: UInt64 = 0,
        collecting deliveries: inout [Delivery]
    ) -> SendResult {
        let key = key.map { Array($0.utf8) }
        let value = value.map { Array($0.utf8) }
        while true {
            let result = send(to: topic, partition: partition, key: key?.span, value: value?.span, tag: tag)
            if result != .full { return result }
            _ = collectDeliveries(into: &deliveries, waitMilliseconds: 10)
        }
    }
}

extension Span<UInt8> {
    /// The bytes as text.
    var text: String {
        var bytes: [UInt8] = []
        for index in indices { bytes.append(self[index]) }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// A copy of a record as text, for comparison. A record itself is valid only until the next poll.
struct RecordCopy: Equatable {
    var partition: Int32 = 0
    var offset: Int64 = 0
    var key: String?
    var value: String?
    /// The headers, each as `NAME=VALUE`.
    var headers: [String] = []

    init(_ record: borrowing Record) {
        partition = record.partition
        offset = record.offset
        key = record.key?.text
        value = record.value?.text
        let list = record.headers
        for index in 0..<list.count {
            let header = list[index]
            headers.append("\(header.name.text)=\(header.value?.text ?? "<null>")")
        }
    }
}

extension Consumer {
    /// Polls once and appends the records.
    func read(
        _ batch: inout RecordBatch, into records: inout [RecordCopy], waitMilliseconds: Int32 = 20
    ) -> [ConsumerEvent] {
        let events = poll(into: &batch, waitMilliseconds: waitMilliseconds)
        for index in 0..<batch.count { records.append(RecordCopy(batch[index])) }
        return events
    }

    /// Reads until there are at least `count` records, or the time is over. Returns all that came.
    func read(atLeast count: Int, within milliseconds: Int = 20_000) throws -> [RecordCopy] {
        var batch = RecordBatch()
        var records: [RecordCopy] = []
        _ = try eventually(within: milliseconds) {
            _ = read(&batch, into: &records)
            return records.count >= count
        }
        return records
    }
}
