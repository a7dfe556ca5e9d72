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

/// Tests of views whose files are damaged, and of a full disk.
@Suite struct StateFileFateTests {
    private final class Life {
        let bed: TestBed
        let directory: TemporaryDirectory
        let sender: RecordWriter
        var mix = ReportGenerator(installations: 200, seed: 11)
        private let cluster: TestCluster

        init() throws {
            cluster = try TestCluster()
            bed = try TestBed(brokers: cluster.brokers, lanes: 2)
            directory = try TemporaryDirectory()
            sender = try RecordWriter(on: bed)
        }

        func start() throws -> StageProcess {
            try StageProcess(
                .ingest, of: builtProductPath(named: "flotilla-bench"), on: bed, data: directory.path)
        }

        func send(_ count: Int) {
            for _ in 0..<count { sender.write(mix.next()) }
            #expect(sender.finish())
        }

        func caughtUp(_ what: String) async throws {
            let places = (0..<2).map { TopicPartition(bed.layout.name(of: .reports), Int32($0)) }
            try await eventually(what) {
                let lags = try? bed.admin.lag(of: bed.layout.prefix + "ingest", in: places)
                return lags?.allSatisfy { $0.recordCount == 0 && $0.committed.offset != nil } ?? false
            }
        }

        func file(_ partition: Int, _ name: String) -> String {
            directory.filePath(named: "slot-0/ingest/installations-\(partition)/\(name)")
        }
    }

    @Test(arguments: ["deleted", "cut", "flipped", "other schema", "other boot"])
    func `an untrusted file is rebuilt and logged`(fate: String) async throws {
        let life = try Life()
        var process = try life.start()
        life.send(1000)
        try await life.caughtUp("the first reports")
        process.stop()
        #expect(try await process.process.exitStatus() == 0)
        for partition in 0..<2 { try harm(life, partition, fate) }
        process = try life.start()
        life.send(1000)
        // LMDB may crash the process once or twice on damaged pages. A supervisor then restarts it.
        var starts = 1
        try await eventually("the second reports") {
            if !process.isRunning, starts < 4 {
                process = try life.start()
                starts += 1
            }
            try await life.caughtUp("the second reports")
            return true
        }
        if fate != "deleted" && fate != "flipped" {
            try await process.process.waitForOutput(containing: "built anew")
        }
        process.stop()
        _ = try await process.process.exitStatus()
        try judge(life.bed)
    }

    private func harm(_ life: Life, _ partition: Int, _ fate: String) throws {
        let data = life.file(partition, "data.mdb")
        let mark = life.file(partition, "mark")
        var bytes = try Data(contentsOf: URL(fileURLWithPath: data))
        var text = try String(contentsOfFile: mark, encoding: .utf8)
        var chance = SeededGenerator(seed: UInt64.random(in: 0...999_999))
        switch fate {
        case "deleted":
            try FileManager.default.removeItem(
                atPath: URL(fileURLWithPath: data).deletingLastPathComponent().path)
            return
        case "cut": bytes = bytes.prefix(bytes.count / 2)
        case "flipped":
            for _ in 0..<64 {
                bytes[chance.number(below: bytes.count)] ^= UInt8(1 << chance.number(below: 8))
            }
        case "other schema": text = text.replacing(/schema \d+/, with: "schema 999")
        default:
            text = text.replacing(/condition clean [\d ]+/, with: "condition open").replacing(
                /boot .*/, with: "boot another")
        }
        try bytes.write(to: URL(fileURLWithPath: data))
        try text.write(toFile: mark, atomically: true, encoding: .utf8)
    }

    @Test func `a recreated topic is detected even if it is longer than the old one`() async throws {
        let life = try Life()
        var process = try life.start()
        life.send(300)
        try await life.caughtUp("the first reports")
        process.stop()
        #expect(try await process.process.exitStatus() == 0)
        let name = life.bed.layout.name(of: .installations)
        _ = try life.bed.admin.deleteTopics([name])
        try await eventually("the end of the old topic") {
            try !life.bed.admin.topics().contains { $0.name == name }
        }
        #expect(try life.bed.layout.create(on: life.bed.admin) == [name])
        let producer = try Producer(
            settings: life.bed.settings, name: "others", log: .silent, metrics: Metrics())
        let topic = try producer.topic(named: name)
        for number in 0..<2000 {
            let key = Array("shop/i:other-\(number)".utf8)
            let sent = producer.send(
                to: topic, partition: Int32(number % 2), key: key.span, value: key.span, tag: 0)
            #expect(sent == .queued)
        }
        var deliveries: [Delivery] = []
        let left = producer.flush(withinMilliseconds: 60_000, into: &deliveries)
        #expect(left == 0)
        let stored = deliveries.count { $0.isStored }
        #expect(stored == 2000)
        process = try life.start()
        try await process.process.waitForOutput(containing: "of the topic")
        try await process.process.waitForOutput(containing: "built anew")
        process.stop()
        _ = try await process.process.exitStatus()
    }

    @Test func `on a full disk reports wait and continue by themselves when there is space`() async throws {
        let life = try Life()
        let process = try life.start()
        life.send(500)
        try await life.caughtUp("the first reports")
        func limit(_ bytes: String) async throws {
            let limiter = try ChildProcess(
                "prlimit", arguments: ["--pid", "\(process.process.processID)", "--fsize=\(bytes):unlimited"])
            #expect(try await limiter.exitStatus() == 0)
        }
        try await limit("8192")
        life.send(3000)
        try await process.process.waitForOutput(containing: "no room for the state of this process")
        #expect(process.isRunning)
        try await limit("unlimited")
        try await process.process.waitForOutput(containing: "there is room again")
        try await life.caughtUp("the second reports")
        process.stop()
        #expect(try await process.process.exitStatus() == 0)
        try judge(life.bed)
    }
}
