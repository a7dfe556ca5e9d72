internal import JSON
internal import Kafka
internal import LiveActivity

/// Reads `receipts` of lanes from an offset to where they end when it is asked. Pinned to its loop.
final class ReceiptsReader {
    private struct Reading {
        var next: Int64
        let end: Int64
    }

    /// How long the question for an end may take.
    private static let askMilliseconds = 5_000

    private let consumer: Consumer
    private let topic: String
    private let reader = JSONReader()
    private var batch = RecordBatch(recordsMax: 1_000, bytesMax: 4 << 20)
    private var readings: [Int32: Reading] = [:]
    /// Asked for, and the cluster has not said where they end.
    private var asked: [Int32: Int64] = [:]

    init(_ consumer: Consumer, topic: String) {
        self.consumer = consumer
        self.topic = topic
    }

    var descriptor: Int32 { consumer.descriptor }
    var isBusy: Bool { !readings.isEmpty || !asked.isEmpty }

    func read(lane: Int32, from offset: Int64) { asked[lane] = offset }

    /// Forgets what was asked: the lanes are not ours any more.
    func stop() {
        asked.removeAll()
        readings.removeAll()
        try? consumer.release()
    }

    /// True when there may be more at once.
    func poll(_ found: (Receipt, Int32) -> Void, end: (Int32, Int64) -> Void) throws -> Bool {
        try begin(end)
        // Also when nothing is asked for: what came too late would keep the descriptor readable, and the loop awake.
        let events = consumer.poll(into: &batch)
        for index in 0..<batch.count {
            let (lane, offset) = (batch[index].partition, batch[index].offset)
            guard let reading = readings[lane], offset < reading.end else { continue }
            if let bytes = [UInt8](copying: batch[index].value),
                let receipt = try? Receipt.decode(bytes, with: reader)
            {
                found(receipt, lane)
            }
            readings[lane]?.next = offset + 1
        }
        let isFull = batch.isFull
        batch.clear()
        for event in events {
            switch event {
            case .end(let partition, let offset): readings[partition.partition]?.next = offset
            case .failed(.rebuild(let error)): throw error
            case .failed, .offered, .revoked, .lost, .suspended, .committed: break
            }
        }
        let ended = readings.filter { $0.value.next >= $0.value.end }
        for lane in ended.keys { readings[lane] = nil }
        // Otherwise it would go on, and fetch what this sender writes.
        if !ended.isEmpty, readings.isEmpty { try consumer.release() }
        for (lane, reading) in ended { end(lane, reading.end) }
        return isFull
    }

    /// The assignment is made anew with each lane that is added, from where the others are.
    private func begin(_ end: (Int32, Int64) -> Void) throws {
        guard !asked.isEmpty else { return }
        for (lane, from) in asked {
            let marks = try consumer.watermarks(
                of: TopicPartition(topic, lane), withinMilliseconds: Self.askMilliseconds)
            asked[lane] = nil
            if max(from, marks.low) >= marks.high {
                end(lane, marks.high)
            } else {
                readings[lane] = Reading(next: max(from, marks.low), end: marks.high)
            }
        }
        try consumer.assign(
            readings.map { PartitionStart(TopicPartition(topic, $0.key), .offset($0.value.next)) })
    }

    func close() { _ = consumer.close() }
}
