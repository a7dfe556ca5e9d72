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
///
/// The first test runs the stage. The others ask an `AppliedPosition`, the position of a file in its topic, what the
/// topic's first and last offset mean for the file.
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
        try await runStage(on: bed, in: directory)
        let firstRows = try rows(of: bed, in: directory)
        if hasUnread { try day.write(sheets: 10, events: 50, to: bed) }
        try bed.expireRecords(of: InsightTopic.allCases.map(\.name).filter { !bed.layout.isCompacted($0) })
        try day.write(sheets: 30, events: 100, to: bed)
        try await runStage(on: bed, in: directory)
        let laterRows = try rows(of: bed, in: directory)
        let newReceipts = try TopicContent(of: .receipts, in: bed).records.count
        #expect(laterRows.receipts == firstRows.receipts + newReceipts && newReceipts > 0)
        #expect(laterRows.events == firstRows.events + 100)
    }

    /// The position of a file that has read up to an offset. The last record, by which it recognizes its topic, is two
    /// offsets before, because the marker of a transaction follows it.
    private func position(at offset: Int64) -> AppliedPosition {
        AppliedPosition(
            of: partition,
            stored: AppliedProgress(
                offset: offset, completeUntil: .now(), lastRecord: LastRecord(offset: offset - 2, checksum: 7)
            ))
    }

    private let partition = TopicPartition("progress", 0)

    private func match(at offset: Int64, low: Int64, high: Int64, isCompacted: Bool = false) -> PartitionMatch
    {
        position(at: offset).match(
            ends: Watermarks(low: low, high: high), of: .progress, isCompacted: isCompacted)
    }

    private func gap(at offset: Int64, low: Int64, high: Int64) -> OffsetGap {
        OffsetGap(partition: partition, committed: offset, watermarks: Watermarks(low: low, high: high))
    }

    @Test func `a file reads on if its partition has its next record and the one before`() {
        #expect(match(at: 100, low: 0, high: 100) == .continues)
        #expect(match(at: 100, low: 98, high: 120) == .continues)
    }

    @Test func `a file lacks nothing if only a marker or a record that it has is gone`() {
        #expect(match(at: 100, low: 99, high: 120) == .nothingMissing)
        #expect(match(at: 100, low: 100, high: 100) == .nothingMissing)
        #expect(match(at: 100, low: 101, high: 101) == .nothingMissing)
    }

    @Test func `records that retention deleted do not make a file unusable`() {
        #expect(match(at: 100, low: 150, high: 150) == .recordsExpired(gap(at: 100, low: 150, high: 150)))
    }

    @Test func `a file of another topic is rebuilt`() {
        #expect(match(at: 100, low: 0, high: 50) == .differentTopic(gap(at: 100, low: 0, high: 50)))
        #expect(
            match(at: 100, low: 150, high: 150, isCompacted: true)
                == .differentTopic(gap(at: 100, low: 150, high: 150)))
    }

    @Test func `a file that skipped a gap continues at the first record`() throws {
        var position = position(at: 100)
        #expect(position.startOffset(from: 0) == 98)
        position.skip(to: 150)
        #expect(position.startOffset(from: 150) == 150)
        #expect(try position.confirmed(path: "file").lastRecord == nil)
        #expect(position.uncommittedProgress.offset == 150)
    }

    /// Runs the stage until all records are in its files.
    private func runStage(on bed: TestBed, in directory: TemporaryDirectory) async throws {
        let stage = try await RunningInsight(bed, directory: directory.path)
        try await eventually("all records are in the files") {
            try stage.hasReadAll(of: bed) || stage.failure != nil
        }
        #expect(stage.failure == nil)
        #expect(stage.discardedFileCount() == 0)
        await stage.stop()
    }

    /// Returns the number of rows in the files of all lanes.
    private func rows(
        of bed: TestBed, in directory: TemporaryDirectory
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
