internal import Foundation
internal import Identifiers
internal import Jobs
internal import Kafka
internal import Lifecycle
internal import Payloads
internal import RecordFormat
internal import Sends
internal import Telemetry
internal import Topics

/// Receipts that wait in Kafka before insight starts. A separate process writes them, so that its memory does not
/// count as the stage's.
struct ReceiptBacklog {
    /// The number of sends that the receipts belong to.
    static let sendCount = 20
    /// The sends take turns: this many receipts belong to one, then as many to the next. So 1,000 receipts cover all
    /// sends.
    private static let receiptsPerTurn = 1_000 / sendCount
    /// The time of the receipts, in milliseconds since 1970. It must be less than a week ago, because insight deletes
    /// older data.
    private static let acceptedAt = WallTime.now().milliseconds - 3_600_000
    // The generation of the group and the deadline of its sends, in seconds since 1970.
    private static let generation: Int64 = 1_795_000_000
    private static let deadline: Int64 = 1_795_030_000
    /// The first argument of the process that writes the receipts.
    private static let childArgument = "write-receipts"

    private let layout: TopicLayout
    private let brokers: [String]
    private let receiptCount: Int
    private let jobsPerReceipt: Int

    init(layout: TopicLayout, brokers: [String], receiptCount: Int, jobsPerReceipt: Int) {
        self.layout = layout
        self.brokers = brokers
        self.receiptCount = receiptCount
        self.jobsPerReceipt = jobsPerReceipt
    }

    static func sendID(number: Int) -> String { "send-of-the-bench-\(number)" }

    // MARK: The separate process

    /// Writes the receipts in a new process, and waits for its end. The process is
    /// `flotilla-bench insight write-receipts BROKERS PREFIX RECEIPTS JOBS-PER-RECEIPT`.
    func writeInChildProcess() throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
        process.arguments = [
            "insight", Self.childArgument, brokers.joined(separator: ","), layout.prefix,
            String(receiptCount), String(jobsPerReceipt),
        ]
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw BenchmarkFailure("the receipts were not written") }
    }

    /// Returns the backlog that the arguments after `insight` describe, or nil for other arguments.
    init?(childArguments arguments: [String]) {
        guard arguments.first == Self.childArgument, arguments.count == 5 else { return nil }
        let (brokers, prefix) = (arguments[1], arguments[2])
        guard let receiptCount = Int(arguments[3]), let jobsPerReceipt = Int(arguments[4]) else { return nil }
        self.init(
            layout: TopicLayout(prefix: prefix, lanes: TopicLayout.lanesDefault),
            brokers: brokers.split(separator: ",").map(String.init), receiptCount: receiptCount,
            jobsPerReceipt: jobsPerReceipt)
    }

    // MARK: Writing

    /// Writes the receipts as senders do: nearly all jobs of a sheet in one part, with their recipients in the header.
    func write() throws {
        let producer = try Producer(
            settings: KafkaSettings(brokers: brokers), name: "receipts", log: .silent, metrics: Metrics())
        let topic = try producer.topic(named: layout.name(of: .receipts))
        var deliveries: [Delivery] = []
        var storedCount = 0
        func countStored() {
            storedCount += deliveries.count { $0.isStored }
            deliveries.removeAll(keepingCapacity: true)
        }
        for number in 0..<receiptCount {
            let lane = Int32(number % layout.lanes)
            let value = makeReceipt(number: number, lane: lane).encoded()
            let recipientLines = makeRecipientLines(receipt: number)
            while !send(value, recipientLines: recipientLines, lane: lane, by: producer, to: topic) {
                // The queue is full. Acknowledged receipts leave it.
                _ = producer.collectDeliveries(into: &deliveries, waitMilliseconds: 10)
                countStored()
            }
        }
        _ = producer.flush(withinMilliseconds: 120_000, into: &deliveries)
        countStored()
        guard storedCount == receiptCount else { throw BenchmarkFailure("the receipts were not stored") }
    }

    /// Sends a receipt. Returns false if the producer's queue is full.
    private func send(
        _ value: [UInt8], recipientLines: [UInt8], lane: Int32, by producer: Producer, to topic: Topic
    ) -> Bool {
        var headers = RecordHeaders(capacity: 1)
        headers.add(ReceiptLines.header, value: recipientLines.span)
        let result = producer.send(
            to: topic, partition: lane, key: nil, value: value.span, headers: &headers, tag: 0)
        return result != .full
    }

    // MARK: One receipt

    /// Returns a receipt whose last job was rejected and whose other jobs were accepted.
    private func makeReceipt(number: Int, lane: Int32) -> Receipt {
        let send = number / Self.receiptsPerTurn % Self.sendCount
        let head = SheetHead(
            topic: "com.example.shop.push-type.liveactivity", priority: .immediate, expiration: 0,
            app: "shop", environment: .production, send: Self.sendID(number: send), group: "match-42",
            scope: .group, generation: Self.generation, version: Self.generation + Int64(send),
            event: .update, deadline: Self.deadline, acceptedAt: Self.acceptedAt)
        var accepted = LineSet()
        for line in 0..<jobsPerReceipt - 1 { accepted.append(line) }
        var rejected = LineSet()
        rejected.append(jobsPerReceipt - 1)
        return Receipt(
            head, at: JobPosition(topic: "jobs", partition: lane, offset: Int64(number)), attempt: 1,
            // Within a minute after the send was accepted.
            writtenAt: Self.acceptedAt + Int64(number % 60_000),
            parts: [
                Receipt.Part(.accepted, lines: accepted, status: 200),
                Receipt.Part(.rejected, lines: rejected, status: 410, reason: "Unregistered"),
            ])
    }

    /// Returns the header `to` of a receipt, a line for each job: installation, entry, recipient and system version,
    /// separated by tabs. Each job has another phone.
    private func makeRecipientLines(receipt number: Int) -> [UInt8] {
        let lines = (0..<jobsPerReceipt).map { job in
            let phone = number * jobsPerReceipt + job
            let suffix = 100_000_000 + phone
            let installation = "7f3c2a90-\(suffix)-5b21"
            let entry = "update:0e61d1f2-\(suffix)"
            return "\(installation)\t\(entry)\tu:customer-\(phone)\t\(17 + phone % 3)\n"
        }
        return Array(lines.joined().utf8)
    }
}
