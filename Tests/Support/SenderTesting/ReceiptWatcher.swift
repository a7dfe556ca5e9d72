package import IngestTesting
internal import JSON
package import Jobs
internal import Kafka
internal import RecordFormat
internal import Telemetry
internal import Topics

/// A reader of the receipts that are written after it was made.
package final class ReceiptWatcher {
    private let consumer: Consumer
    private let reader = JSONReader()
    private var batch = RecordBatch(recordsMax: 2_000, bytesMax: 16 << 20)

    package init(on bed: TestBed) throws {
        consumer = try Consumer(
            settings: bed.settings, options: ConsumerOptions(membership: .manual), name: "watch",
            log: .silent, metrics: Metrics())
        var starts: [PartitionStart] = []
        for lane in 0..<Int32(bed.layout.lanes) {
            let partition = TopicPartition(bed.layout.name(of: .receipts), lane)
            starts.append(
                PartitionStart(
                    partition: partition, position: .offset(try consumer.watermarks(of: partition).high)))
        }
        try consumer.assign(startingAt: starts)
    }

    /// Calls `body` with each new receipt. Waits at most this long for the first one.
    package func poll(waitMilliseconds: Int32, forEach body: (Receipt) -> Void) {
        _ = consumer.poll(into: &batch, waitMilliseconds: waitMilliseconds)
        for index in 0..<batch.count {
            guard let bytes = [UInt8](copying: batch[index].value),
                let receipt = try? Receipt.decode(bytes, with: reader)
            else { continue }
            body(receipt)
        }
        batch.clear()
    }

    package func close() { _ = consumer.close() }
}
