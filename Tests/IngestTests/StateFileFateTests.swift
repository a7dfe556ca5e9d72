import Foundation
import Ingest
import IngestTesting
import Kafka
import KafkaTesting
import ProcessTesting
import Simulation
import Telemetry
import Testing
import Topics

/// Tests of the files of a process's views. Between two runs of the process a test damages a file, replaces the topic,
/// or leaves no space on the disk. The process must build a wrong file anew from the topic.
@Suite struct StateFileFateTests {
    /// The damage of a file between two runs of a process.
    enum Damage: String, CaseIterable {
        case deleted
        case cut
        case flippedBits
        case otherSchema
        case otherBoot
    }

    /// A test bed for processes that share one data directory, and a writer of reports.
    private final class Fixture {
        let bed: TestBed
        let directory: TemporaryDirectory
        let writer: RecordWriter
        var generator = ReportGenerator(installations: 200, seed: 11)
        private let cluster: TestCluster

        init() throws {
            cluster = try TestCluster()
            bed = try TestBed(brokers: cluster.brokers, lanes: 2)
            directory = try TemporaryDirectory()
            writer = try RecordWriter(on: bed)
        }

        func start() throws -> StageProcess {
            try StageProcess(
                .ingest, of: builtProductPath(named: "flotilla-bench"), on: bed, data: directory.path)
        }

        func sendReports(count: Int) {
            for _ in 0..<count { writer.write(generator.next()) }
            #expect(writer.finish())
        }

        /// Waits until all reports are merged.
        ///
        /// - Parameter name: The reports, for the message of a failure.
        func waitUntilMerged(_ name: String) async throws {
            let partitions = (0..<2).map { TopicPartition(bed.layout.name(of: .reports), Int32($0)) }
            try await eventually("\(name) are merged") {
                let lags = try? bed.admin.lag(of: bed.layout.prefix + "ingest", in: partitions)
                return lags?.allSatisfy { $0.recordCount == 0 && $0.committed.offset != nil } ?? false
            }
        }

        func filePath(named name: String, ofPartition partition: Int) -> String {
            directory.filePath(named: "slot-0/ingest/installations-\(partition)/\(name)")
        }
    }

    @Test(arguments: Damage.allCases)
    func `an untrusted file is rebuilt and logged`(damage: Damage) async throws {
        let fixture = try Fixture()
        var process = try fixture.start()
        fixture.sendReports(count: 1000)
        try await fixture.waitUntilMerged("the first reports")
        process.stop()
        #expect(try await process.process.exitStatus() == 0)
        for partition in 0..<2 { try inflict(damage, onPartition: partition, of: fixture) }
        process = try fixture.start()
        fixture.sendReports(count: 1000)
        // LMDB may crash the process once or twice on damaged pages. A supervisor then restarts it.
        var starts = 1
        try await eventually("the second reports are merged") {
            if !process.isRunning, starts < 4 {
                process = try fixture.start()
                starts += 1
            }
            try await fixture.waitUntilMerged("the second reports")
            return true
        }
        // A deleted file is not logged, and flipped bits may lie in free pages.
        if damage != .deleted && damage != .flippedBits {
            try await process.process.waitForOutput(containing: "built anew")
        }
        process.stop()
        _ = try await process.process.exitStatus()
        try expectModel(in: fixture.bed)
    }

    private func inflict(_ damage: Damage, onPartition partition: Int, of fixture: Fixture) throws {
        let dataPath = fixture.filePath(named: "data.mdb", ofPartition: partition)
        // The mark is a text file beside the data: the schema, the boot id and whether the file was closed.
        let markPath = fixture.filePath(named: "mark", ofPartition: partition)
        var data = try Data(contentsOf: URL(fileURLWithPath: dataPath))
        var mark = try String(contentsOfFile: markPath, encoding: .utf8)
        var random = SeededGenerator(seed: UInt64.random(in: 0...999_999))
        switch damage {
        case .deleted:
            try FileManager.default.removeItem(
                atPath: URL(fileURLWithPath: dataPath).deletingLastPathComponent().path)
            return
        case .cut: data = data.prefix(data.count / 2)
        case .flippedBits:
            for _ in 0..<64 {
                data[random.number(below: data.count)] ^= UInt8(1 << random.number(below: 8))
            }
        case .otherSchema: mark = mark.replacing(/schema \d+/, with: "schema 999")
        case .otherBoot:
            mark = mark.replacing(/condition clean [\d ]+/, with: "condition open").replacing(
                /boot .*/, with: "boot another")
        }
        try data.write(to: URL(fileURLWithPath: dataPath))
        try mark.write(toFile: markPath, atomically: true, encoding: .utf8)
    }

    @Test func `a recreated topic is detected even if it is longer than the old one`() async throws {
        let fixture = try Fixture()
        var process = try fixture.start()
        fixture.sendReports(count: 300)
        try await fixture.waitUntilMerged("the first reports")
        process.stop()
        #expect(try await process.process.exitStatus() == 0)
        let name = fixture.bed.layout.name(of: .installations)
        _ = try fixture.bed.admin.deleteTopics([name])
        try await eventually("the end of the old topic") {
            try !fixture.bed.admin.topics().contains { $0.name == name }
        }
        #expect(try fixture.bed.layout.create(on: fixture.bed.admin) == [name])
        let producer = try Producer(
            settings: fixture.bed.settings, name: "others", log: .silent, metrics: Metrics())
        let topic = try producer.topic(named: name)
        // More records than the 300 reports made, so the offsets in the files exist in the new topic too.
        for number in 0..<2000 {
            let key = Array("shop/i:other-\(number)".utf8)
            let result = producer.send(
                to: topic, partition: Int32(number % 2), key: key.span, value: key.span, tag: 0)
            #expect(result == .queued)
        }
        var deliveries: [Delivery] = []
        let missingCount = producer.flush(withinMilliseconds: 60_000, into: &deliveries)
        #expect(missingCount == 0)
        let storedCount = deliveries.count { $0.isStored }
        #expect(storedCount == 2000)
        process = try fixture.start()
        try await process.process.waitForOutput(containing: "of the topic")
        try await process.process.waitForOutput(containing: "built anew")
        process.stop()
        _ = try await process.process.exitStatus()
    }

    @Test func `on a full disk reports wait and continue by themselves when there is space`() async throws {
        let fixture = try Fixture()
        let process = try fixture.start()
        fixture.sendReports(count: 500)
        try await fixture.waitUntilMerged("the first reports")
        func limitFileSize(to byteCount: String) async throws {
            let limiter = try ChildProcess(
                "prlimit",
                arguments: ["--pid", "\(process.process.processID)", "--fsize=\(byteCount):unlimited"])
            #expect(try await limiter.exitStatus() == 0)
        }
        try await limitFileSize(to: "8192")
        fixture.sendReports(count: 3000)
        try await process.process.waitForOutput(containing: "no room for the state of this process")
        #expect(process.isRunning)
        try await limitFileSize(to: "unlimited")
        try await process.process.waitForOutput(containing: "there is room again")
        try await fixture.waitUntilMerged("the second reports")
        process.stop()
        #expect(try await process.process.exitStatus() == 0)
        try expectModel(in: fixture.bed)
    }
}
