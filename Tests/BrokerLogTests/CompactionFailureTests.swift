import Glibc
import Testing

@testable import Broker

/// Compactions that fail or become outdated. None may leave a file that a later start takes for a finished one.
struct CompactionFailureTests {
    private static let settings = [
        "cleanup.policy": "compact", "segment.bytes": "400", "min.cleanable.dirty.ratio": "0.01",
    ]

    /// Makes a log of closed segments with 40 records. Returns it with the newest record of each key. Some keys have
    /// only one record.
    private func filledLog() throws -> (fixture: LogFixture, newest: [String: (offset: Int64, value: String)])
    {
        let fixture = try LogFixture(Self.settings)
        var newest: [String: (offset: Int64, value: String)] = [:]
        for index in 0..<40 {
            let key = index % 5 == 0 ? "only \(index)" : "k\(index % 3)"
            let appended = try fixture.log.append(records("v\(index)", key: key))
            newest[key] = (appended.baseOffset, "v\(index)")
        }
        fixture.store.settle()
        try fixture.log.roll()
        fixture.store.settle()
        return (fixture, newest)
    }

    /// Returns the names of the files that a compaction has not put in place.
    private func leftoverFiles(of log: PartitionLog) throws -> [String] {
        try Disk().names(in: log.directory).filter { $0.hasSuffix(".swap") || $0.hasSuffix(".cleaned") }
    }

    /// Starts a copy of the store. Returns the newest value of each key from `start` on, where the log must begin.
    private func stateAfterStart(of fixture: LogFixture, from start: Int64) throws -> [String: String] {
        let copy = TestDirectory(inMemory: true)
        copyTree(at: fixture.directory.path, to: copy.path)
        let store = try TopicStore(path: copy.path) {}
        let reopened = try #require(store.topic(named: "t")).partitions[0]
        #expect(reopened.endOffset == 41, "the records of `filledLog`, and one more")
        #expect(reopened.logStartOffset == start)
        var state: [String: String] = [:]
        try reopened.forEachBatch(from: start) { batch in
            for record in batch.records where record.offset >= start {
                state[record.keyText] = record.valueText
            }
        }
        return state
    }

    @Test func `a pass that fails at any step, then a retention, a retry and a start lose nothing`() throws {
        var failureCount = 0
        // A step is an operation of the disk. The pass needs fewer than 400.
        for step in 1..<400 {
            let (fixture, newest) = try filledLog()
            let log = fixture.log
            var plan = try #require(log.compactionPlan(now: secondsAfterNoon(10)))
            // Several small segments become one.
            plan.segmentBytes = 1_000
            log.isCompacting = true
            let firstSegment = plan.sources[0]
            fixture.faultyDisk.fail(after: step)
            let result = CompactionPass.run(plan: plan, disk: fixture.faultyDisk.disk, isStopping: { false })
            if result.error == nil { break }
            failureCount += 1
            #expect(result.groups.isEmpty)
            log.finishCompaction(with: result, now: secondsAfterNoon(10))
            #expect(try leftoverFiles(of: log) == [], "step \(step)")
            // The first segment is deleted, so the retry merges other groups of segments.
            try log.settings.set("segment.bytes", to: "5000")
            let start = firstSegment.endOffset + 1
            try log.deleteRecords(before: start)
            fixture.upkeep(at: secondsAfterNoon(11))
            #expect(log.logStartOffset == start)
            // A compaction is tried again a minute after its failure.
            fixture.upkeep(at: secondsAfterNoon(100))
            try log.append(records("last", key: "last"))
            fixture.store.settle()
            var expected = newest.filter { $0.value.offset >= start }.mapValues(\.value)
            expected["last"] = "last"
            #expect(try stateAfterStart(of: fixture, from: start) == expected, "step \(step)")
        }
        #expect(failureCount > 10)
        #expect(failureCount < 399, "the last pass must succeed")
    }

    @Test func `a compaction from before a reopening is not put in place`() throws {
        let (fixture, _) = try filledLog()
        let log = fixture.log
        let plan = try #require(log.compactionPlan(now: secondsAfterNoon(10)))
        log.isCompacting = true
        let result = CompactionPass.run(plan: plan, disk: fixture.faultyDisk.disk, isStopping: { false })
        #expect(result.groups.count > 1)
        // A failed sync reopens the log without this record.
        try log.append(records("unsynced", key: "k"))
        fixture.faultyDisk.failNext(.sync, with: .fail(EIO))
        fixture.store.settle()
        #expect(log.endOffset == 40)
        #expect(try leftoverFiles(of: log).count == result.groups.count)
        log.finishCompaction(with: result, now: secondsAfterNoon(10))
        #expect(try leftoverFiles(of: log) == [])
        #expect(try fixture.values().count == 40)
        fixture.upkeep(at: secondsAfterNoon(20))
        #expect(try fixture.values().count < 40)
        #expect(log.closedReason == nil)
    }

    @Test func `a log stops if a failed compaction leaves a file that cannot be removed`() throws {
        let (fixture, _) = try filledLog()
        let log = fixture.log
        let plan = try #require(log.compactionPlan(now: secondsAfterNoon(10)))
        log.isCompacting = true
        var result = CompactionResult(log: log.id, incarnation: plan.incarnation)
        result.error = .closed("a test")
        result.leftovers = [log.directory + "/0-1.swap"]
        fixture.faultyDisk.failNext(.remove, with: .fail(EIO))
        log.finishCompaction(with: result, now: secondsAfterNoon(10))
        #expect(log.closedReason != nil)
    }
}
