import Identifiers
import IngestTesting
import Insight
import InsightTesting
import Jobs
import KafkaTesting
import Payloads
import ProcessTesting
import Telemetry
import Testing
import Topics

/// The anonymous memory of an insight process stays below the bound that its settings give, while a backlog is read.
@Suite struct MemoryTests {
    private static let lanes = TopicLayout.lanesDefault
    private static let receipts = 1500
    private static let acceptedAt = WallTime.now().milliseconds - 3_600_000

    /// Returns the receipt of a full sheet, whose jobs were all accepted.
    private func receiptOfFullSheet(number: Int) -> DayRecord {
        let head = SheetHead(
            topic: "com.example.push-type.liveactivity", priority: .immediate, expiration: 0, app: "shop",
            environment: .production, send: "send-\(number % 20)", group: "match-42", scope: .group,
            generation: 1_795_000_000, version: 1_795_000_000, event: .update, deadline: 1_900_000_000,
            acceptedAt: Self.acceptedAt)
        var accepted = LineSet()
        for line in 0..<SheetHead.jobsMax { accepted.append(line) }
        let lane = number % Self.lanes
        let receipt = Receipt(
            head, at: JobPosition(topic: "jobs", partition: Int32(lane), offset: Int64(number)), attempt: 1,
            writtenAt: Self.acceptedAt, parts: [Receipt.Part(.accepted, lines: accepted, status: 200)])
        let addressees = (0..<SheetHead.jobsMax).map { line in
            let phone = number * SheetHead.jobsMax + line
            return
                "7f3c2a90-\(100_000_000 + phone)\tupdate:0e61d1f2-\(100_000_000 + phone)\tu:user-\(phone)\t18\n"
        }
        return DayRecord(
            topic: .receipts, partition: Int32(lane), value: receipt.encoded(),
            addressees: Array(addressees.joined().utf8))
    }

    @Test func `a backlog of the largest receipts fits into the bound of the settings`() async throws {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: Self.lanes)
        let directory = try TemporaryDirectory()
        let writer = try DayWriter(on: bed)
        for number in 0..<Self.receipts { try writer.write(receiptOfFullSheet(number: number)) }
        #expect(writer.finish())
        let process = try StageProcess(
            .insight, of: builtProductPath(named: "flotilla-bench"), on: bed, data: directory.path,
            extraArguments: StageProcess.showMemoryArguments)
        // The memory is highest while there are more receipts than one batch and the next fetches hold.
        try await process.waitUntilMemorySettles(aboveMiB: InsightSettings().batchBytesMax >> 20)
        let peak = try await process.stopAndReadPeakMiB()
        print("private memory at most", peak, "MiB")
        #expect(peak <= InsightSettings().anonymousBytesMax(lanes: Self.lanes) >> 20, "\(peak) MiB")
    }
}
