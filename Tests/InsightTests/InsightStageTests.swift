import CatalogRecords
import Foundation
import IngestTesting
import Kafka
import KafkaTesting
import Members
import ProcessTesting
import RecordFormat
import Store
import Telemetry
import Testing
import Topics

@testable import Insight

/// The whole stage: its figures equal an independent count, also after damage and kills. Each test writes a random day
/// to the topics, runs the stage until everything is in its files, and reads the files.
@Suite struct InsightStageTests {
    @Test func `the figures equal an independent count, also after a restart`() async throws {
        let cluster = try TestCluster()
        let (bed, directory) = try (
            TestBed(brokers: cluster.brokers, lanes: InsightDay.lanes), TemporaryDirectory()
        )
        var day = InsightDay(seed: 1)
        try day.write(sheets: 60, events: 500, to: bed)
        try await run(bed, in: directory)
        try expectFiles(in: directory.path, matchTopicsOf: bed)

        try day.write(sheets: 30, events: 200, to: bed)
        let discarded = try await run(bed, in: directory)
        #expect(discarded == 0)
        try expectFiles(in: directory.path, matchTopicsOf: bed)
    }

    @Test func `lost or damaged files are rebuilt with equal content`() async throws {
        let cluster = try TestCluster()
        let (bed, directory) = try (
            TestBed(brokers: cluster.brokers, lanes: InsightDay.lanes), TemporaryDirectory()
        )
        var day = InsightDay(seed: 2)
        try day.write(sheets: 60, events: 500, to: bed)
        try await run(bed, in: directory)

        let state = directory.path + "/slot-0/insight"
        try FileManager.default.removeItem(atPath: state + "/receipts-0")
        try FileManager.default.removeItem(atPath: state + "/events-0")
        // LMDB and SQLite have pages of 4 KiB. LMDB's first two pages have metadata.
        let pageByteCount: UInt64 = 4096
        for page in 2..<20 as Range<UInt64> {
            try damage(state + "/receipts-1/data.mdb", at: page * pageByteCount + 2000)
        }
        try damage(state + "/events-1/events.sqlite", at: 0)
        try damage(state + "/events-2/events.sqlite", at: 2 * pageByteCount)
        let discarded = try await run(bed, in: directory)
        #expect(discarded == 3, "the damaged files")
        try expectFiles(in: directory.path, matchTopicsOf: bed)
    }

    @Test(arguments: [
        InsightStep.laneOpened, .receiptsCommitted, .eventsCommitted, .batchCommitted, .rowsCommitted,
    ])
    func `after a kill the figures continue exactly`(step: InsightStep) async throws {
        let cluster = try TestCluster()
        let (bed, directory) = try (
            TestBed(brokers: cluster.brokers, lanes: InsightDay.lanes), TemporaryDirectory()
        )
        var day = InsightDay(seed: 3)
        try day.write(sheets: 60, events: 500, to: bed)
        // Two processes are killed one after the other: when the step is reached for the first and for the third time.
        for occurrence in [1, 3] {
            let (brokers, prefix) = (bed.settings.brokers, bed.layout.prefix)
            let (path, stepNumber) = (directory.path, step.rawValue)
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [
                    brokers = brokers as [String], prefix = prefix as String, path = path as String,
                    stepNumber = stepNumber as Int, occurrence = occurrence as Int
                ] in
                let countdown = Countdown(occurrence)
                let stage = try await RunningInsight(brokers: brokers, prefix: prefix, directory: path) {
                    if $0.rawValue == stepNumber, countdown.countDown() { kill(getpid(), SIGKILL) }
                }
                try await eventually("the kill") { stage.failure != nil }
            }
        }
        try await run(bed, in: directory)
        try expectFiles(in: directory.path, matchTopicsOf: bed)
    }

    @Test func `a full file stops one topic of one lane, and nothing else`() async throws {
        let cluster = try TestCluster()
        let (bed, directory) = try (
            TestBed(brokers: cluster.brokers, lanes: InsightDay.lanes), TemporaryDirectory()
        )
        let limits = EnvironmentLimits(mapBytesAtStart: 2 << 20, mapBytesMax: 2 << 20)
        let stage = try await RunningInsight(bed, directory: directory.path, limits: limits)
        // All entries of an app are in one lane.
        let writer = try RecordWriter(on: bed, to: .audit)
        for number in 0..<12_000 as Range<Int64> {
            let entry = AuditEntry(
                at: RandomDay.start + number, author: "key-1", action: "type.put", app: "shop",
                subject: String(repeating: "x", count: 100))
            writer.write(key: entry.key, value: entry.encoded())
            if number % 1000 == 999 { #expect(writer.finish()) }
        }
        try await eventually("the file is full") {
            stage.metrics.values(of: "flotilla_insight_lanes_blocked").map(\.number) == [1]
        }
        var day = InsightDay(seed: 9)
        try day.write(sheets: 20, events: 200, to: bed)
        try await eventually("the other topics are read") {
            try stage.hasReadAll(of: bed, except: .audit) || stage.failure != nil
        }
        let repairs = stage.metrics.values(of: "flotilla_insight_started_over_total").map(\.number)
        #expect(repairs == [1], "the lane is not opened again and again")
        let range = ["from": "\(RandomDay.start)", "to": "\(RandomDay.start + 86_400_000)"]
        let entries = try await stage.answer(.audit, range)["items"] as? [Any]
        #expect(entries?.count == 50, "the stored entries are shown")
        await stage.stop()
        #expect(stage.failure == nil)
    }

    /// Runs the stage until all records are in its files.
    ///
    /// - Returns: The number of files that it discarded.
    @discardableResult
    private func run(_ bed: TestBed, in directory: TemporaryDirectory) async throws -> Int {
        let stage = try await RunningInsight(bed, directory: directory.path)
        try await eventually("all records are in the files") {
            try stage.hasReadAll(of: bed) || stage.failure != nil
        }
        #expect(stage.failure == nil)
        await stage.stop()
        return stage.discardedFileCount()
    }

    /// Overwrites 600 bytes of a file.
    private func damage(_ path: String, at offset: UInt64) throws {
        let file = try FileHandle(forUpdating: URL(filePath: path))
        try file.seek(toOffset: offset)
        try file.write(contentsOf: Data(repeating: 0xA5, count: 600))
        try file.close()
    }
}
