import Identifiers
import IngestTesting
import Insight
import Jobs
import Kafka
import KafkaTesting
import Payloads
import ProcessTesting
import RecordFormat
import Sends
import Telemetry
import Testing
import Topics

/// The anonymous memory of an insight process stays below the bound that its settings give, while a backlog is read.
@Suite struct MemoryTests {
    private static let lanes = TopicLayout.lanesDefault
    private static let receipts = 1500
    private static let acceptedAt = WallTime.now().milliseconds - 3_600_000

    /// Writes the receipt of a full sheet, whose jobs were all accepted.
    private func writeReceipt(number: Int, with producer: CountingProducer, to topic: Topic) {
        let head = SheetHead(
            topic: "com.example.push-type.liveactivity", priority: .immediate, expiration: 0, app: "shop",
            environment: .production, send: "send-\(number % 20)", group: "match-42", scope: .group,
            generation: 1_795_000_000, version: 1_795_000_000, event: .update, deadline: 1_900_000_000,
            acceptedAt: Self.acceptedAt)
        var accepted = LineSet()
        for line in 0..<SheetHead.jobsMax { accepted.append(line) }
        let lane = Int32(number % Self.lanes)
        let receipt = Receipt(
            head, at: JobPosition(topic: "jobs", partition: lane, offset: Int64(number)), attempt: 1,
            writtenAt: Self.acceptedAt, parts: [Receipt.Part(.accepted, lines: accepted, status: 200)])
        let addressees = (0..<SheetHead.jobsMax).map { line in
            let phone = number * SheetHead.jobsMax + line
            return
                "7f3c2a90-\(100_000_000 + phone)\tupdate:0e61d1f2-\(100_000_000 + phone)\tu:user-\(phone)\t18\n"
        }
        var headers = RecordHeaders(capacity: 1)
        headers.add(ReceiptLines.header, value: Array(addressees.joined().utf8).span)
        producer.send(
            to: topic, partition: lane, key: nil, value: receipt.encoded().span, headers: headers)
    }

    @Test func `a backlog of the largest receipts fits into the bound of the settings`() async throws {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: Self.lanes)
        let directory = try TemporaryDirectory()
        let producer = try CountingProducer(on: bed, name: "sender")
        let topic = try producer.topic(named: bed.layout.name(of: .receipts))
        for number in 0..<Self.receipts { writeReceipt(number: number, with: producer, to: topic) }
        #expect(producer.finish() == 0 && producer.areAllStored)
        let process = try StageProcess(
            .insight, of: builtProductPath(named: "flotilla-bench"), on: bed, data: directory.path)
        let memory = PrivateMemorySampler(of: process.process.processID)
        // The memory is highest while there are more receipts than one batch and the next fetches hold.
        try await memory.waitUntilSettled(aboveMiB: InsightSettings().batchBytesMax >> 20)
        process.stop()
        #expect(try await process.process.exitStatus() == 0)
        let peak = memory.stop()
        print("private memory at most", peak, "MiB")
        #expect(peak <= InsightSettings().anonymousBytesMax(lanes: Self.lanes) >> 20, "\(peak) MiB")
    }

    @Test func `the operator's book names the bound`() throws {
        let page = try Repository.text(of: "deploy/book/insight.md")
        let settings = InsightSettings()
        #expect(page.contains("With 12 lanes that is \(settings.anonymousBytesMax(lanes: 12) >> 20) MiB."))
        // A batch counts twice. 1,000 receipts of 96 KiB are fetched ahead.
        let fixed = (128 << 20) + 2 * (16 << 20) + 1000 * (96 << 10)
        #expect(settings.anonymousBytesMax(lanes: 3) == fixed + 3 * (5 << 20))
        #expect(page.contains("254 MiB + 5 MiB × lanes of the process"))
    }
}
