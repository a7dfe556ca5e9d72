internal import JSON
internal import Kafka
internal import RecordFormat
internal import Sends

/// The reader of `superseded`: the newest versions of groups, and the cancelled sends. It reads from the beginning and
/// never ends. It is used on the thread of its loop only.
final class SupersededReader {
    private let topicReader: PartitionReader
    private let jsonReader = JSONReader()
    private var batch = RecordBatch(recordsMax: 1_000, bytesMax: 1 << 20)
    /// Whether it has reached the end once.
    private(set) var isComplete = false

    init(_ topicReader: PartitionReader) {
        self.topicReader = topicReader
        let partition = TopicPartition(topicReader.topic, 0)
        topicReader.assign(startingAt: [PartitionStart(partition: partition, position: .beginning)])
    }

    var descriptor: Int32 { topicReader.descriptor }

    /// Passes on new records. Returns whether there may be more at once.
    func poll(_ passRecord: (SupersededVersions) -> Void) throws -> Bool {
        let events = topicReader.poll(into: &batch)
        for index in 0..<batch.count {
            // A malformed record is skipped. Only the planner writes this topic.
            guard let bytes = [UInt8](copying: batch[index].value),
                let versions = try? SupersededVersions.decode(bytes, with: jsonReader)
            else { continue }
            passRecord(versions)
        }
        let isFull = batch.isFull
        batch.clear()
        for event in events {
            switch event {
            case .reachedEnd: isComplete = true
            case .failed(.unusable(let error)): throw error
            case .failed, .offered, .revoked, .lost, .suspended, .committed, .queryCompleted: break
            }
        }
        return isFull
    }

    func close() { topicReader.close() }
}
