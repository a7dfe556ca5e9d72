package import Kafka
package import LiveActivity
package import Topics

/// Reads what became of one send's jobs, and each time it is asked only what has come since.
///
/// Pinned to one thread; a reading may begin another.
package final class OutcomeReader {
    /// How much earlier than it was accepted, by its gateway's clock, the cluster may have stamped its receipts.
    private static let clocksApartMilliseconds: Int64 = 60_000

    package private(set) var outcomes = SendOutcomes()
    private let scanner: TopicScanner
    private let filter: ReceiptsOfSend
    private let layout: TopicLayout
    private var starts: [TopicScanner.Start]

    /// - Parameter acceptedAt: milliseconds since 1970, when the send was accepted.
    package init(
        of send: String, app: String, acceptedAt: Int64, settings: KafkaSettings, layout: TopicLayout
    ) {
        scanner = TopicScanner(settings)
        filter = ReceiptsOfSend(send, of: app)
        self.layout = layout
        starts = Array(repeating: .time(acceptedAt - Self.clocksApartMilliseconds), count: layout.lanes)
    }

    package func readOn() throws {
        for lane in starts.indices {
            let partition = TopicPartition(layout.name(.receipts), Int32(lane))
            let end = try scanner.read(partition, from: starts[lane]) { record in
                if let receipt = filter.receipt(in: record) { outcomes.hear(receipt) }
            }
            starts[lane] = .offset(end)
        }
    }
}
