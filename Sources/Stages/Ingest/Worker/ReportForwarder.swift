internal import InstallationRecords
internal import Kafka
internal import StageSupport

/// Forwards reports to their right partition.
struct ReportForwarder {
    private let writer: NonTransactionalWriter
    private let topic: String

    init(writer: NonTransactionalWriter, topic: String) {
        self.writer = writer
        self.topic = topic
    }

    /// Forwards the report unchanged, under the key that decides its partition.
    ///
    /// - Parameter isEverywhere: Whether this is a copy for each partition.
    func forward(
        _ value: Span<UInt8>, key: [UInt8], arrival: ReportArrival, to partition: Int32,
        isCopyForAllPartitions: Bool = false
    ) {
        var headers = RecordHeaders(capacity: 3)
        if isCopyForAllPartitions { headers.add(Report.allPartitionsHeader, value: [UInt8]().span) }
        headers.add(Report.receivedAtHeader, value: Array(String(arrival.receivedAt).utf8).span)
        headers.add(Report.offsetHeader, value: Array(String(arrival.offset).utf8).span)
        writer.send(to: topic, partition: partition, key: key.span, value: value, headers: &headers)
    }
}
