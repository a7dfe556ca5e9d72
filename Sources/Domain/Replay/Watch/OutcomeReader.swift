package import Jobs
package import Kafka
package import Topics

/// A reader of the topic `receipts` that counts the outcomes of one send's jobs. A command uses it to watch a send.
///
/// Confined to one thread.
package final class OutcomeReader {
    package private(set) var outcomes = SendOutcomes()
    private let scanner: TopicScanner
    private let filter: SendReceiptFilter
    private let layout: TopicLayout
    /// The start of the next scan in each lane.
    private var starts: [TopicScanner.Start]

    /// - Parameter acceptedAt: The time at which the send was accepted, in milliseconds since 1970.
    package init(
        of send: String, app: String, acceptedAt: Int64, settings: KafkaSettings, layout: TopicLayout
    ) {
        scanner = TopicScanner(settings)
        filter = SendReceiptFilter(send: send, app: app)
        self.layout = layout
        let start = TopicScanner.Start.time(SendReceiptFilter.firstReceiptTime(acceptedAt: acceptedAt))
        starts = Array(repeating: start, count: layout.lanes)
    }

    /// Reads the receipts since the last call, in all lanes.
    package func readNewReceipts() throws {
        for lane in starts.indices {
            let partition = TopicPartition(layout.name(of: .receipts), Int32(lane))
            let end = try scanner.read(partition, from: starts[lane]) { record in
                if let receipt = filter.receipt(in: record) { outcomes.add(receipt) }
            }
            starts[lane] = .offset(end)
        }
    }
}
