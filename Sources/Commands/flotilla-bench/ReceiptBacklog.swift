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
    /// The first argument of the process that writes the receipts.
    private static let childArgument = "write-receipts"
    /// The time of the receipts. It must be less than a week ago, because insight deletes older data.
    private static let acceptedAt = WallTime.now().milliseconds - 3_600_000

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

    /// Writes the receipts in a new process, and waits for its end.
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

    /// Returns the backlog that the arguments of `writeInChildProcess` describe, or nil for other arguments.
    init?(childArguments arguments: [String]) {
        guard arguments.first == Self.childArgument, arguments.count == 5,
            let receiptCount = Int(arguments[3]), let jobsPerReceipt = Int(arguments[4])
        else { return nil }
        self.init(
            layout: TopicLayout(prefix: arguments[2], lanes: TopicLayout.lanesDefault),
            brokers: arguments[1].split(separator: ",").map(String.init), receiptCount: receiptCount,
            jobsPerReceipt: jobsPerReceipt)
    }

    // MARK: Receipts

    /// Writes the receipts as senders do: nearly all jobs of a sheet in one part, with their recipients.
    func write() throws {
        let producer = try Producer(
            settings: KafkaSettings(brokers: brokers), name: "receipts", log: .silent, metrics: Metrics())
        let topic = try producer.topic(named: layout.name(of: .receipts))
        var deliveries: [Delivery] = []
        var stored = 0
        for number in 0..<receiptCount {
            let lane = Int32(number % layout.lanes)
            let value = makeReceipt(number: number, lane: lane).encoded()
            let lines = makeRecipientLines(receipt: number)
            while true {
                var headers = RecordHeaders(capacity: 1)
                headers.add(ReceiptLines.header, value: lines.span)
                let result = producer.send(
                    to: topic, partition: lane, key: nil, value: value.span, headers: &headers, tag: 0)
                if result != .full { break }
                _ = producer.collectDeliveries(into: &deliveries, waitMilliseconds: 10)
                stored += deliveries.count { $0.isStored }
                deliveries.removeAll(keepingCapacity: true)
            }
        }
        _ = producer.flush(withinMilliseconds: 120_000, into: &deliveries)
        stored += deliveries.count { $0.isStored }
        guard stored == receiptCount else { throw BenchmarkFailure("the receipts were not stored") }
    }

    /// Returns a line for each job: installation, entry, recipient and system, separated by tabs.
    private func makeRecipientLines(receipt number: Int) -> [UInt8] {
        let lines = (0..<jobsPerReceipt).map { line in
            let phone = number * jobsPerReceipt + line
            return
                "7f3c2a90-\(100_000_000 + phone)-5b21\tupdate:0e61d1f2-\(100_000_000 + phone)\tu:customer-\(phone)\t\(17 + phone % 3)\n"
        }
        return Array(lines.joined().utf8)
    }

    /// Returns a receipt whose last job was rejected and whose other jobs were accepted. 1,000 receipts in a row
    /// spread over 20 sends.
    private func makeReceipt(number: Int, lane: Int32) -> Receipt {
        let send = number * Self.sendCount / 1_000 % Self.sendCount
        let head = SheetHead(
            topic: "com.example.shop.push-type.liveactivity", priority: .immediate, expiration: 0,
            app: "shop",
            environment: .production, send: Self.sendID(number: send), group: "match-42", scope: .group,
            generation: 1_795_000_000, version: 1_795_000_000 + Int64(send), event: .update,
            deadline: 1_795_030_000, acceptedAt: Self.acceptedAt)
        var accepted = LineSet()
        for line in 0..<jobsPerReceipt - 1 { accepted.append(line) }
        var rejected = LineSet()
        rejected.append(jobsPerReceipt - 1)
        return Receipt(
            head, at: JobPosition(topic: "jobs", partition: lane, offset: Int64(number)), attempt: 1,
            writtenAt: Self.acceptedAt + Int64(number % 60_000),
            parts: [
                Receipt.Part(.accepted, lines: accepted, status: 200),
                Receipt.Part(.rejected, lines: rejected, status: 410, reason: "Unregistered"),
            ])
    }
}
