import CatalogRecords
import Foundation
import Identifiers
import Ingest
import IngestTesting
import InstallationRecords
import Kafka
import KafkaTesting
import ProcessTesting
import Telemetry
import Testing
import TokenSealing
import Topics

/// The memory of a process does not grow with the installations that a report key can create.
@Suite struct MemoryTests {
    private static let phoneCount = 500
    private static let laneCount = TopicLayout.lanesDefault
    private static let batchRecordsMax = IngestSettings().batchRecordsMax
    private static let memoryBytesMax = IngestSettings().anonymousBytesMax(partitions: laneCount)

    /// Returns an installation at all limits, with some 140 KiB.
    private func largestInstallation(number: Int) -> Installation {
        // Three days ago, so that a heartbeat is due.
        let time = ReportTime(
            claimed: nil, received: WallTime.now().milliseconds - 3 * 86_400_000, order: .first)
        func longName(_ index: Int) -> String {
            "\(index)-" + String(repeating: "n", count: NameRules.bytesMax - 4)
        }
        let token = Installation.Token(
            hash: String(repeating: "ab", count: TokenSeal.hashBytes),
            sealed: String(repeating: "cd", count: PushToken.bytesMax), environment: .production, at: time)
        var installation = Installation(app: TestBed.app.id, subject: .installation("phone-\(number)"))
        installation.environment = Timestamped(.production, at: time)
        installation.tags = Timestamped((0..<Report.tagsMax).map(longName), at: time)
        installation.startTokens = (0..<Installation.startTokensMax).map {
            Installation.StartToken(type: longName($0), token: token)
        }
        installation.activities = (0..<Installation.activitiesMax).map { index in
            var activity = Installation.Activity(id: longName(index))
            activity.type = Timestamped(longName(index), at: time)
            activity.group = Timestamped(longName(index), at: time)
            activity.channel = Timestamped(longName(index), at: time)
            activity.token = token
            return activity
        }
        return installation
    }

    private func heartbeat(ofPhone number: Int) -> Report {
        Report(
            app: TestBed.app.id, environment: .production, installation: "phone-\(number)", kind: .heartbeat
        )
    }

    @Test func `heartbeats and log-ins of the largest installations fit into the bound of the settings`()
        async throws
    {
        let fixture = try Fixture()
        try WrittenInstallations.write((0..<Self.phoneCount).lazy.map(largestInstallation), to: fixture.bed)
        // Each phone has ten heartbeats. The first one is written, the others are only kept in memory. After the log-in
        // all rows of the phone move to the user's lane.
        let heartbeats = (0..<10 * Self.phoneCount).lazy.map { heartbeat(ofPhone: $0 / 10) }
        let logins = (0..<Self.phoneCount).lazy.map { number in
            var report = heartbeat(ofPhone: number)
            report.user = "user-\(number)"
            return report
        }
        let peak = try await fixture.peakOfMerging(Array(heartbeats) + Array(logins))
        #expect(peak <= Self.memoryBytesMax >> 20, "\(peak) MiB")
    }

    @Test func `a backlog of the smallest reports fits into the bound of the settings`() async throws {
        let count = 200_000
        let peak = try await Fixture().peakOfMerging(
            (0..<count).lazy.map { number in
                Report(
                    app: TestBed.app.id, environment: .production, installation: "\(number % 120_000)",
                    kind: .heartbeat)
            })
        #expect(peak <= Self.memoryBytesMax >> 20, "\(peak) MiB")
    }

    @Test func `the page says the bound of the settings`() throws {
        let page = try Repository.text(of: "deploy/book/ingest.md")
        let bound = IngestSettings().anonymousBytesMax(partitions: 12) >> 20
        #expect(page.contains("With the defaults and 12 partitions that is \(bound) MiB."))
        // The formula of the page, applied to other settings.
        var settings = IngestSettings()
        (settings.overlayBytesMax, settings.overlayRowsMax, settings.batchRecordsMax) = (1 << 30, 7000, 300)
        let formula = (192 << 20) + 2 * (1 << 30) + 256 * 7000 + 2048 * 300 + (4 << 20) * 3
        #expect(settings.anonymousBytesMax(partitions: 3) == formula)
        #expect(
            page.contains(
                "192 MiB + 2 × ingest.overlay-bytes + 256 B × ingest.overlay-rows + 2 KiB × ingest.batch-records + 4 MiB × partitions of the process"
            ))
    }

    /// A cluster for a process of the stage.
    private struct Fixture {
        private let cluster: TestCluster
        private let directory: TemporaryDirectory
        let bed: TestBed

        init() throws {
            cluster = try TestCluster()
            bed = try TestBed(brokers: cluster.brokers, lanes: MemoryTests.laneCount)
            directory = try TemporaryDirectory()
        }

        /// Lets a process merge a backlog of reports, and returns the peak of its private memory in MiB.
        func peakOfMerging(_ reports: some Sequence<Report>) async throws -> Int {
            let writer = try RecordWriter(on: bed)
            for report in reports { writer.write(report) }
            #expect(writer.finish())
            let process = try StageProcess(
                .ingest, of: builtProductPath(named: "flotilla-bench"), on: bed, data: directory.path,
                extraArguments: [
                    "--batch-records", String(MemoryTests.batchRecordsMax),
                    // On a slow machine the process must not lose its membership.
                    "--session-milliseconds", "45000",
                ])
            let memory = PrivateMemorySampler(of: process.process.processID)
            let partitions = (0..<MemoryTests.laneCount).map {
                TopicPartition(bed.layout.name(of: .reports), Int32($0))
            }
            try await eventually("all reports are merged", seconds: 240) {
                try #require(process.isRunning, "\(process.process.errors.suffix(600))")
                let lags = try? bed.admin.lag(of: bed.layout.prefix + "ingest", in: partitions)
                return lags?.allSatisfy { $0.recordCount == 0 && $0.committed.offset != nil } ?? false
            }
            process.stop()
            #expect(try await process.process.exitStatus() == 0)
            let peak = memory.stop()
            #expect(try TopicContent(of: .deadLetters, in: bed).records.isEmpty)
            print("private memory at most", peak, "MiB")
            return peak
        }
    }
}
