import IngestTesting
import Kafka
import KafkaTesting
import ProcessTesting
import StageSupport
import Store
import Telemetry
import Testing
import Topics

@testable import Insight

/// Retention deletes records while the stage does not run. A file keeps what it has read before.
struct IdleTimeTests {
    @Test(arguments: [false, true])
    func `files keep their rows when retention deletes the records of their topics`(hasUnread: Bool)
        async throws
    {
        let cluster = try TestCluster()
        let (bed, directory) = try (
            TestBed(brokers: cluster.brokers, lanes: InsightDay.lanes), TemporaryDirectory()
        )
        var day = InsightDay(seed: 4)
        try day.write(sheets: 60, events: 200, to: bed)
        try await run(bed, directory)
        let before = try rows(bed, directory)
        if hasUnread { try day.write(sheets: 10, events: 50, to: bed) }
        try bed.expireRecords(of: InsightTopic.allCases.map(\.name).filter { !bed.layout.isCompacted($0) })
        try day.write(sheets: 30, events: 100, to: bed)
        try await run(bed, directory)
        let after = try rows(bed, directory)
        let fresh = try TopicContent(of: .receipts, in: bed).records.count
        #expect(after.receipts == before.receipts + fresh && fresh > 0)
        #expect(after.events == before.events + 100)
    }

    /// The mark of a file that has read up to an offset, with a record behind which it can recognize its topic.
    private func mark(at offset: Int64) -> AppliedPosition {
        AppliedPosition(
            of: place,
            stored: AppliedProgress(
                offset: offset, completeUntil: .now(), lastRecord: LastRecord(offset: offset - 2, checksum: 7)
            ))
    }

    private let place = TopicPartition("progress", 0)

    private func fit(_ offset: Int64, low: Int64, high: Int64, isCompacted: Bool = false) -> PartitionMatch {
        mark(at: offset).match(
            ends: Watermarks(low: low, high: high), of: .progress, isCompacted: isCompacted)
    }

    private func gap(_ offset: Int64, low: Int64, high: Int64) -> OffsetGap {
        OffsetGap(partition: place, committed: offset, watermarks: Watermarks(low: low, high: high))
    }

    @Test func `a file reads on if its partition has its next record and the one before`() {
        #expect(fit(100, low: 0, high: 100) == .continues)
        #expect(fit(100, low: 98, high: 120) == .continues)
    }

    @Test func `a file lacks nothing if only a marker or a record that it has is gone`() {
        #expect(fit(100, low: 99, high: 120) == .nothingMissing)
        #expect(fit(100, low: 100, high: 100) == .nothingMissing)
        #expect(fit(100, low: 101, high: 101) == .nothingMissing)
    }

    @Test func `records that retention deleted do not condemn a file`() {
        #expect(fit(100, low: 150, high: 150) == .recordsExpired(gap(100, low: 150, high: 150)))
    }

    @Test func `a file of another topic is rebuilt`() {
        #expect(fit(100, low: 0, high: 50) == .differentTopic(gap(100, low: 0, high: 50)))
        #expect(
            fit(100, low: 150, high: 150, isCompacted: true)
                == .differentTopic(gap(100, low: 150, high: 150)))
    }

    @Test func `a file that went behind a gap goes on at the first record`() throws {
        var mark = mark(at: 100)
        #expect(mark.start(from: 0) == 98)
        mark.skip(to: 150)
        #expect(mark.start(from: 150) == 150)
        #expect(try mark.confirmed(path: "file").lastRecord == nil)
        #expect(mark.uncommittedProgress.offset == 150)
    }

    private func run(_ bed: TestBed, _ directory: TemporaryDirectory) async throws {
        let stage = try await RunningInsight(bed, directory: directory.path)
        try await eventually("all records are in the files") {
            try stage.hasReadAll(of: bed) || stage.failure != nil
        }
        #expect(stage.failure == nil)
        #expect(stage.discarded() == 0)
        await stage.stop()
    }

    private func rows(
        _ bed: TestBed, _ directory: TemporaryDirectory
    ) throws -> (receipts: Int, events: Int) {
        var (receipts, events) = (0, 0)
        for lane in 0..<Int32(InsightDay.lanes) {
            let files = try InsightFiles(bed, lane: lane, directory: directory.path)
            receipts += try files.receipts.rowCount(of: .receipts)
            events += try files.events.eventCount()
            try files.close()
        }
        return (receipts, events)
    }
}
