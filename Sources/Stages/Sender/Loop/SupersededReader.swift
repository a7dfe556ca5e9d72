internal import JSON
internal import Kafka
internal import RecordFormat
internal import Sends

/// The reader of `superseded`: the newest versions of groups, the cancelled sends, and the erased recipients. It reads
/// from the beginning and never ends. It is used on the thread of its loop only.
final class SupersededReader {
    /// A record of `superseded`.
    enum SupersededRecord {
        case versions(SupersededVersions)
        /// - Parameter at: the cluster's stamp, in milliseconds since 1970.
        case erasure(RecipientErasure, at: Int64)
    }

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
    func poll(_ passRecord: (SupersededRecord) -> Void) throws -> Bool {
        let events = topicReader.poll(into: &batch)
        for index in 0..<batch.count {
            if let record = decode(batch[index]) { passRecord(record) }
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

    /// Returns nil for a malformed record. Only planners and gateways write this topic.
    private func decode(_ record: borrowing Kafka.Record) -> SupersededRecord? {
        guard let bytes = [UInt8](copying: record.value) else { return nil }
        if let versions = try? SupersededVersions.decode(bytes, with: jsonReader) {
            return .versions(versions)
        }
        guard let erasure = try? RecipientErasure.decode(bytes, with: jsonReader), let time = record.timestamp
        else { return nil }
        return .erasure(erasure, at: time)
    }

    func close() { topicReader.close() }
}
