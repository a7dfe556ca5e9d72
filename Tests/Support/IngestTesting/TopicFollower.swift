package import Kafka
internal import Telemetry
package import Topics

/// A reader of the committed records of a topic, each record once. It does not wait for open transactions.
///
/// A process that died within a transaction hides the records behind it, until its transaction ends. On Apache Kafka
/// that can take 20 s. A reader that waited for it would hold up the test that starts the next process.
package final class TopicFollower {
    /// The longest wait for the first record of a call.
    private static let waitMilliseconds: Int32 = 20

    private let consumer: Consumer
    private var batch = RecordBatch()

    package init(of topic: TopicName, in bed: TestBed) throws {
        consumer = try Consumer(
            settings: bed.settings, options: ConsumerOptions(membership: .manual), name: "follower",
            log: .silent, metrics: Metrics())
        let name = bed.layout.name(of: topic)
        try consumer.assign(
            startingAt: (0..<Int32(bed.layout.partitionCount(of: topic))).map {
                PartitionStart(partition: TopicPartition(name, $0), position: .beginning)
            })
    }

    /// Calls `body` with the records that arrived since the last call.
    package func readAvailable(_ body: (borrowing Record) -> Void) {
        repeat {
            _ = consumer.poll(into: &batch, waitMilliseconds: Self.waitMilliseconds)
            for index in 0..<batch.count { body(batch[index]) }
        } while !batch.isEmpty
        batch.clear()
    }

    deinit {
        batch.clear()
        _ = consumer.close()
    }
}
