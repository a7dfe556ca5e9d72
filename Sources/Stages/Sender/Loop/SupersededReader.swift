internal import JSON
internal import Kafka
internal import LiveActivity

/// The reader that follows `superseded` from its beginning. It is pinned to its loop.
final class SupersededReader {
    private let consumer: Consumer
    private let partition: TopicPartition
    private let reader = JSONReader()
    private var batch = RecordBatch(recordsMax: 1_000, bytesMax: 1 << 20)
    private(set) var isComplete = false

    init(_ consumer: Consumer, topic: String) throws {
        self.consumer = consumer
        partition = TopicPartition(topic, 0)
        try consumer.assign(startingAt: [PartitionStart(partition: partition, position: .beginning)])
    }

    var descriptor: Int32 { consumer.descriptor }

    /// Passes new notes on. Returns whether there may be more at once.
    func poll(_ note: (SupersededVersions) -> Void) throws -> Bool {
        let events = consumer.poll(into: &batch)
        for index in 0..<batch.count {
            // A record that is not a note is skipped. Only the planner writes this topic.
            guard let bytes = [UInt8](copying: batch[index].value),
                let read = try? SupersededVersions.decode(bytes, with: reader)
            else { continue }
            note(read)
        }
        let isFull = batch.isFull
        batch.clear()
        for event in events {
            switch event {
            case .reachedEnd: isComplete = true
            case .failed(.rebuild(let error)): throw error
            case .failed, .offered, .revoked, .lost, .suspended, .committed, .queryCompleted: break
            }
        }
        return isFull
    }

    func close() { _ = consumer.close() }
}
