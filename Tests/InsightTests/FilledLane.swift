import InstallationRecords
import JSON
import Jobs
import Kafka
import Lifecycle
import ProcessTesting
import RecordFormat
import Store
import Telemetry
import Topics

@testable import Insight

/// The files of one lane with rows that a test adds, opened for queries.
final class FilledLane {
    /// The time of the first event, in milliseconds since 1970.
    static let start: Int64 = 1_795_000_000_000
    private let directory: TemporaryDirectory
    private let files: LaneFiles
    let openLanes = OpenLanes()

    init() throws {
        directory = try TemporaryDirectory()
        let (path, boot) = (directory.path, try BootID.current())
        func partition(of topic: InsightTopic) -> TopicPartition {
            TopicPartition(topic.name.rawValue, 0)
        }
        let receipts = try ReceiptFile(
            directory: path + "/receipts", of: partition(of: .receipts), cluster: "cluster",
            limits: EnvironmentLimits(), boot: boot, reader: JSONReader())
        let events = try EventFile(
            directory: path + "/events", of: partition(of: .events), cluster: "cluster")
        let rows = try InsightTopic.allCases.compactMap { topic in
            try topic.mapping.map { mapping in
                try RowFile(
                    directory: path + "/" + topic.name.rawValue, mapping: mapping, of: partition(of: topic),
                    ageMax: topic.ageMaxMilliseconds, cluster: "cluster", limits: EnvironmentLimits(),
                    boot: boot)
            }
        }
        files = LaneFiles(partition: 0, receipts: receipts, events: events, rows: rows)
    }

    /// Writes events, one each `spacing` milliseconds, and opens the lane for queries.
    func fill(events count: Int, spacing: Int64 = 1000, makeEvent: (Int) -> Event) throws {
        for number in 0..<count {
            var event = makeEvent(number)
            event.eventTime = Self.start + Int64(number) * spacing
            files.eventFile.add(event, at: Int64(number), stamp: event.eventTime)
            if number % 10_000 == 9999 { try files.eventFile.commit() }
        }
        try files.eventFile.commit()
        openLanes.add(OpenLane(files: files))
    }

    /// Writes receipts, whose jobs have one addressee each, and opens the lane for queries.
    ///
    /// - Parameter addressee: Returns the addressee of a line of a receipt.
    func fill(receipts: [Receipt], addressee: (_ receipt: Int, _ line: Int) -> ReceiptLines.Addressee) throws
    {
        for (number, receipt) in receipts.enumerated() {
            let lineCount = receipt.parts.reduce(0) { $0 + $1.lines.count }
            let lines = (0..<lineCount).map { line in
                let addresseeOfLine = addressee(number, line)
                return
                    "\(addresseeOfLine.installation)\t\(addresseeOfLine.entry)\t\(addresseeOfLine.recipient)\n"
            }
            let (json, header) = (receipt.encoded(), Array(lines.joined().utf8))
            try files.receiptFile.add(receipt, at: Int64(number), json: json.span, lines: header.span)
        }
        try files.receiptFile.commit()
        openLanes.add(OpenLane(files: files))
    }

    /// Writes rows of a topic, and opens the lane for queries.
    func fill(_ topic: InsightTopic, table: RowTable, with rows: borrowing RowBatch) throws {
        let lane = OpenLane(files: files)
        guard let file = lane.rowEnvironments[topic] else { preconditionFailure("\(topic) has no rows") }
        try file.write { transaction throws(StoreError) in
            try transaction.apply(rows, to: file.table(named: table.rawValue))
        }
        openLanes.add(lane)
    }

    /// Writes rows of receipts, which may be damaged.
    func write(_ rows: borrowing RowBatch, toReceipts table: ReceiptTable) throws {
        let file = files.receiptFile.environment
        try file.write { transaction throws(StoreError) in
            try transaction.apply(rows, to: file.table(named: table.rawValue))
        }
    }

    /// The number of rows about the series of all apps.
    var seriesRowCount: Int { get throws { try files.receiptFile.rowCount(of: .series) } }

    let freshness = FreshnessLog()
    var reader: LaneReader { LaneReader(openLanes: openLanes, laneCount: 1, freshness: freshness) }

    deinit { try? files.close() }
}
