internal import InstallationRecords
internal import Kafka
internal import StageSupport

/// The writer of reports that lie in a wrong partition, of erasures that every partition needs, and of claims of
/// tokens. It writes to `reports`, the topic that ingest reads.
struct ReportForwarder {
    private static let headersMax = 3

    private let writer: NonTransactionalWriter
    private let topic: String

    init(writer: NonTransactionalWriter, topic: String) {
        self.writer = writer
        self.topic = topic
    }

    /// Writes a record that is not a report, such as claims of tokens, to a partition.
    func write(_ value: Span<UInt8>, key: [UInt8], to partition: Int32) {
        var headers = RecordHeaders(capacity: 0)
        writer.send(to: topic, partition: partition, key: key.span, value: value, headers: &headers)
    }

    /// Writes the report to a partition. The headers keep the time and the offset of its first arrival.
    ///
    /// - Parameters:
    ///   - key: the key that decides the partition.
    ///   - isCopyForAllPartitions: whether every partition gets a copy.
    func forward(
        _ value: Span<UInt8>, key: [UInt8], arrival: ReportArrival, to partition: Int32,
        isCopyForAllPartitions: Bool = false
    ) {
        var headers = RecordHeaders(capacity: Self.headersMax)
        if isCopyForAllPartitions { headers.add(Report.allPartitionsHeader, value: [UInt8]().span) }
        headers.add(Report.receivedAtHeader, value: Array(String(arrival.receivedAt).utf8).span)
        headers.add(Report.offsetHeader, value: Array(String(arrival.offset).utf8).span)
        writer.send(to: topic, partition: partition, key: key.span, value: value, headers: &headers)
    }
}
