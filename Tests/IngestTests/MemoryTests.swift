import CatalogRecords
import Glibc
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
    private static let phones = 1000
    /// The limit of private memory, without the views, which are mapped files.
    private static let memoryBytesMax = 420 << 20

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

    @Test func `heartbeats of the largest installations fit into a fixed memory`() async throws {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 2)
        let directory = try TemporaryDirectory()
        try WrittenInstallations.write((0..<Self.phones).lazy.map(largestInstallation), to: bed)
        let sender = try RecordWriter(on: bed)
        // The first heartbeat is written, the second is only kept in memory.
        for _ in 0..<2 {
            for number in 0..<Self.phones { sender.write(heartbeat(ofPhone: number)) }
        }
        #expect(sender.finish())
        func start() throws -> StageProcess {
            try StageProcess(
                .ingest, of: builtProductPath(named: "flotilla-bench"), on: bed, data: directory.path,
                memoryBytesMax: Self.memoryBytesMax)
        }
        var process = try start()
        let partitions = (0..<2).map { TopicPartition(bed.layout.name(of: .reports), Int32($0)) }
        try await eventually("all heartbeats are merged") {
            if !process.isRunning {
                // On a slow machine the process may lose its membership and exit. A lack of memory ends it by
                // a signal.
                let status = try await process.process.exitStatus()
                guard status > 0 else { return true }
                process = try start()
            }
            let lags = try? bed.admin.lag(of: bed.layout.prefix + "ingest", in: partitions)
            return lags?.allSatisfy { $0.recordCount == 0 && $0.committed.offset != nil } ?? false
        }
        #expect(process.isRunning, "\(process.process.errors.suffix(600))")
        process.stop()
        #expect(try await process.process.exitStatus() == 0)
        let deadLetters = try TopicContent(of: .deadLetters, in: bed).records
        #expect(deadLetters.isEmpty)
    }
}
