internal import JSON
internal import Kafka
internal import Store
internal import Telemetry

/// The files of one lane, one for each topic. Whatever goes wrong with one of them, all are closed, and opened
/// again later: what was taken and not entered is read again.
final class LaneFiles {
    let partition: Int32
    let receipts: ReceiptFile
    let events: EventFile
    /// In the order of `InsightTopic`.
    let files: [any LaneFile]
    /// The newest stamp of the cluster that was met: by it rows are old, whatever this machine's clock says.
    private(set) var newest: Int64 = 0
    private(set) var isTouched = false
    /// What is there has been read, as far as the cluster has said, by topic.
    private(set) var isAtEnd: [Bool]

    /// - Parameter rows: the files of all topics but receipts and events.
    init(_ partition: Int32, receipts: ReceiptFile, events: EventFile, rows: [RowFile]) {
        self.partition = partition
        self.receipts = receipts
        self.events = events
        files = [receipts, events] + rows
        isAtEnd = files.map { _ in false }
    }

    var starts: [PartitionStart] { files.map(\.mark.start) }

    /// A record of one of the topics.
    ///
    /// - Returns: what became of it, for the metrics.
    func hear(
        _ record: borrowing Kafka.Record, of topic: InsightTopic, with reader: JSONReader
    ) throws -> String {
        isTouched = true
        newest = max(newest, record.timestamp ?? 0)
        isAtEnd[topic.rawValue] = false
        let file = files[topic.rawValue]
        guard file.mark.meet(record) else { return "known" }
        return try file.hear(record, with: reader)
    }

    func reached(_ end: Int64, of topic: InsightTopic) {
        isTouched = true
        isAtEnd[topic.rawValue] = true
        files[topic.rawValue].mark.reached(end)
    }

    /// The offset of a topic that its file wants next.
    func applied(_ topic: InsightTopic) -> Int64 { files[topic.rawValue].mark.applied }

    /// Milliseconds since 1970 up to which everything is in the files.
    func asOf(now: Int64) -> Int64 {
        zip(files, isAtEnd).map { $1 ? now : $0.mark.taken.asOf.milliseconds }.min() ?? 0
    }

    func settled() { isTouched = false }

    func close() throws {
        defer { withExtendedLifetime(files) {} }
        for file in files { try file.close() }
    }
}
