import Glibc
import Testing

@testable import Broker

/// A pass that does not reach its end leaves no file that a later start could take for a finished one.
struct CompactionFailureTests {
    private static let settings = [
        "cleanup.policy": "compact", "segment.bytes": "400", "min.cleanable.dirty.ratio": "0.01",
    ]

    /// Closed segments of many keys: some records are the only ones of theirs.
    private func filled() throws -> (one: OneLog, truth: [String: (offset: Int64, value: String)]) {
        let one = try OneLog(Self.settings)
        var truth: [String: (offset: Int64, value: String)] = [:]
        for index in 0..<40 {
            let key = index % 5 == 0 ? "only \(index)" : "k\(index % 3)"
            let appended = try one.log.append(records("v\(index)", key: key))
            truth[key] = (appended.baseOffset, "v\(index)")
        }
        one.store.settle()
        try one.log.roll()
        one.store.settle()
        return (one, truth)
    }

    private func waiting(_ log: PartitionLog) throws -> [String] {
        try Disk().names(in: log.directory).filter { $0.hasSuffix(".swap") || $0.hasSuffix(".cleaned") }
    }

    @Test func `a pass that fails at any step, then a retention, a retry and a start lose nothing`() throws {
        var failures = 0
        for step in 1..<400 {
            let (one, truth) = try filled()
            let log = one.log
            var plan = try #require(log.compactionPlan(now: at(10)))
            plan.segmentBytes = 1000
            log.isCompacting = true
            let first = plan.sources[0]
            one.faulty.fail(after: step)
            let result = CompactionPass.run(plan: plan, disk: one.faulty.disk, isStopping: { false })
            if result.error == nil { break }
            failures += 1
            #expect(result.groups.isEmpty)
            log.finishCompaction(with: result, now: at(10))
            #expect(try waiting(log) == [], "step \(step)")
            // The first segment goes, and the others are merged in other groups.
            try log.settings.set("segment.bytes", to: "5000")
            let start = first.endOffset + 1
            try log.deleteRecords(before: start)
            one.upkeep(at: at(11))
            #expect(log.logStartOffset == start)
            one.upkeep(at: at(100))
            try log.append(records("last", key: "last"))
            one.store.settle()
            let copy = TestDirectory(inMemory: true)
            copyTree(one.directory.path, copy.path)
            let store = try TopicStore(path: copy.path) {}
            let again = try #require(store.topic(named: "t")).partitions[0]
            #expect(again.endOffset == 41)
            #expect(again.logStartOffset == start)
            var state: [String: String] = [:]
            try again.forEachBatch(from: start) { batch in
                for record in batch.records where record.offset >= start {
                    state[record.keyText] = record.valueText
                }
            }
            var expected = truth.filter { $0.value.offset >= start }.mapValues(\.value)
            expected["last"] = "last"
            #expect(state == expected, "step \(step)")
        }
        #expect(failures > 10)
        #expect(failures < 399)
    }

    @Test func `a compaction from before a reopening is not put in place`() throws {
        let (one, _) = try filled()
        let log = one.log
        let plan = try #require(log.compactionPlan(now: at(10)))
        log.isCompacting = true
        let result = CompactionPass.run(plan: plan, disk: one.faulty.disk, isStopping: { false })
        #expect(result.groups.count > 1)
        try log.append(records("taken back", key: "k"))
        one.faulty.failNext(.sync, .fail(EIO))
        one.store.settle()
        #expect(log.endOffset == 40)
        #expect(try waiting(log).count == result.groups.count)
        log.finishCompaction(with: result, now: at(10))
        #expect(try waiting(log) == [])
        #expect(try one.values().count == 40)
        one.upkeep(at: at(20))
        #expect(try one.values().count < 40)
        #expect(log.closedReason == nil)
    }

    @Test func `a log whose leftover files cannot be removed stops before its segments change`() throws {
        let (one, _) = try filled()
        let log = one.log
        let plan = try #require(log.compactionPlan(now: at(10)))
        log.isCompacting = true
        var result = CompactionResult(log: log.id, incarnation: plan.incarnation)
        result.error = .closed("a test")
        result.leftovers = [log.directory + "/0-1.swap"]
        one.faulty.failNext(.remove, .fail(EIO))
        log.finishCompaction(with: result, now: at(10))
        #expect(log.closedReason != nil)
    }
}
