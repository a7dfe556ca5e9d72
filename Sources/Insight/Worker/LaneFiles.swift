internal import JSON
internal import Kafka
internal import Store
internal import Telemetry

/// The files of one lane, one for each topic. After an error in one file, all files are closed and later
/// opened again. Records that were not written are then read again.
final class LaneFiles {
    let partition: Int32
    let receipts: ReceiptFile
    let events: EventFile
    /// In the order of `InsightTopic`.
    let files: [any LaneFile]
    /// The newest stamp of the cluster in this lane. The age of rows is measured by it, and not by this
    /// machine's clock.
    private(set) var newest: Int64 = 0
    private(set) var isTouched = false
    /// Whether all existing records of each topic were read, as far as the cluster reported.
    private(set) var isAtEnd: [Bool]

    /// - Parameter rows: The files of all topics except receipts and events.
    init(_ partition: Int32, receipts: ReceiptFile, events: EventFile, rows: [RowFile]) {
        self.partition = partition
        self.receipts = receipts
        self.events = events
        files = [receipts, events] + rows
        isAtEnd = files.map { _ in false }
    }

    var starts: [PartitionStart] { files.map(\.mark.start) }

    /// Takes a record of one of the topics.
    ///
    /// - Returns: The outcome of the record, for the metrics.
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

    /// Returns the offset of the next record that a topic's file needs.
    func applied(_ topic: InsightTopic) -> Int64 { files[topic.rawValue].mark.applied }

    /// Returns the time up to which the files are complete, in milliseconds since 1970.
    func asOf(now: Int64) -> Int64 {
        zip(files, isAtEnd).map { $1 ? now : $0.mark.taken.asOf.milliseconds }.min() ?? 0
    }

    func settled() { isTouched = false }

    func close() throws {
        defer { withExtendedLifetime(files) {} }
        for file in files { try file.close() }
    }
}
