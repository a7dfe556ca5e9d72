internal import Kafka
internal import LiveActivity
internal import StageSupport

/// Forwards reports to their right partition.
struct ReportForwarding {
    private let writer: PlainWriter
    private let topic: String

    init(by writer: PlainWriter, to topic: String) {
        self.writer = writer
        self.topic = topic
    }

    /// Forwards the report unchanged, under the key that decides its partition.
    ///
    /// - Parameter isEverywhere: Whether this is a copy for each partition.
    func forward(
        _ value: Span<UInt8>, key: [UInt8], arrival: Arrival, to partition: Int32, isEverywhere: Bool = false
    ) {
        var headers = RecordHeaders(capacity: 3)
        if isEverywhere { headers.add(Report.everywhereHeader, [UInt8]().span) }
        headers.add(Report.receivedAtHeader, Array(String(arrival.receivedAt).utf8).span)
        headers.add(Report.offsetHeader, Array(String(arrival.offset).utf8).span)
        writer.send(to: topic, partition: partition, key: key.span, value: value, headers: &headers)
    }
}
