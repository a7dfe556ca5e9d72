internal import JSON
internal import Kafka
internal import LiveActivity
internal import SQLite
internal import Store

/// The files of one lane. Whatever goes wrong with one of them, both are closed, and opened again later: what
/// was taken and not entered is read again.
final class LaneFiles {
    let number: Int32
    let receipts: ReceiptFile
    let events: EventFile
    /// The newest stamp of the cluster that was met: by it rows are old, whatever this machine's clock says.
    private(set) var newest: Int64 = 0
    private(set) var isTouched = false

    init(_ number: Int32, receipts: ReceiptFile, events: EventFile) {
        self.number = number
        self.receipts = receipts
        self.events = events
    }

    var starts: [PartitionStart] { [receipts.start, events.start] }

    /// A record of one of the topics.
    ///
    /// - Returns: what became of it, for the metrics.
    func take(
        _ record: borrowing Kafka.Record, of topic: InsightTopic, with reader: JSONReader
    ) throws -> String {
        isTouched = true
        newest = max(newest, record.timestamp ?? 0)
        switch topic {
        case .receipts:
            guard receipts.meet(record) else { return "known" }
            return try takeReceipt(record, with: reader)
        case .events:
            guard events.meet(record) else { return "known" }
            return takeEvent(record, with: reader)
        }
    }

    private func takeReceipt(
        _ record: borrowing Kafka.Record, with reader: JSONReader
    ) throws(StoreError) -> String {
        guard let json = record.value else { return "unreadable" }
        let receipt: Receipt
        do throws(RecordError) {
            receipt = try unsafe json.withUnsafeBytes { bytes throws(RecordError) in
                try unsafe Receipt.decode(bytes, with: reader)
            }
        } catch { return "unreadable" }
        if let header = record.headers.last(ReceiptLines.header), let lines = header.value {
            try receipts.take(receipt, at: record.offset, json: json, lines: lines)
        } else {
            // An older sender's: it counts, and is in nobody's timeline.
            let nobody: [UInt8] = []
            try receipts.take(receipt, at: record.offset, json: json, lines: nobody.span)
        }
        return "entered"
    }

    private func takeEvent(_ record: borrowing Kafka.Record, with reader: JSONReader) -> String {
        guard let json = record.value else { return "unreadable" }
        do throws(RecordError) {
            let event = try unsafe json.withUnsafeBytes { bytes throws(RecordError) in
                try unsafe Event.decode(bytes, with: reader)
            }
            events.take(event, at: record.offset, stamp: record.timestamp ?? event.receivedAt)
            return "entered"
        } catch { return "unreadable" }
    }

    func reached(_ end: Int64, of topic: InsightTopic) {
        isTouched = true
        switch topic {
        case .receipts: receipts.reached(end)
        case .events: events.reached(end)
        }
    }

    /// The offset of a topic that its file wants next.
    func applied(_ topic: InsightTopic) -> Int64 {
        switch topic {
        case .receipts: receipts.applied
        case .events: events.applied
        }
    }

    func settled() { isTouched = false }

    func close() throws {
        defer { withExtendedLifetime(events) {} }
        try receipts.close()
        try events.close()
    }
}
