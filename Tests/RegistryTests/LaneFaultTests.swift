import CStoreFaults
import Foundation
import InstallationRecords
import ProcessTesting
import RecordFormat
import Simulation
import Store
import Telemetry
import Testing

@testable import Registry

/// Tests of a lane with crashes, full disks and changed bytes at each write of a restore and of the commits after it.
/// In each case the lane must have exactly the rows of its offset, or be empty. `store_faults_arm(N, COUNT, FAULT)`
/// lets COUNT writes fail after the first N. `deploy/prove registry-faults` runs a hundred times as many cases.
struct LaneFaultTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    /// Returns the number of writes of a history: runs, tables, marks and commits.
    private func writeCount(of history: LaneHistory) throws -> Int {
        let directory = try TemporaryDirectory()
        store_faults_arm(.max, 0, 0)
        defer { store_faults_disarm() }
        let lane = try openLane(directory.path)
        try history.applyRemaining(to: lane)
        try lane.close()
        return Int(store_faults_disarm())
    }

    @Test func `a lane killed at any write restarts or continues, and is exact`() async throws {
        let history = LaneHistory(seed: 5, records: 900)
        // Another process may make a few writes less, so the counted number is not always reached.
        let count = try writeCount(of: history) - 8
        var random = SeededGenerator(seed: UInt64.random(in: 0...999_999))
        // The proof runs every step. The tests run some of them.
        let steps =
            trialCount(base: 10) >= count
            ? Array(0..<count) : (0..<trialCount(base: 10)).map { _ in random.number(below: count) }
        var resumed = 0
        for step in steps {
            let path = directory.path + "/\(step)"
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [path = path as String, step = step as Int] in
                store_faults_arm(Int32(step), 1, STORE_FAULTS_KILL)
                let lane = try openLane(path)
                try LaneHistory(seed: 5, records: 900).applyRemaining(to: lane)
                try lane.close()
            }
            let lane = try openLane(path)
            if lane.appliedOffset != nil { resumed += 1 }
            try history.expectExactRows(in: lane, "after a kill at write \(step) of \(count)")
            try history.applyRemaining(to: lane)
            try history.expectExactRows(in: lane, "at the end, after a kill at write \(step) of \(count)")
            try lane.close()
            try FileManager.default.removeItem(atPath: path)
        }
        // Over all steps some lanes must continue and others restart. A few random steps prove nothing about that.
        if steps.count >= count { #expect(resumed > 0 && resumed < count) }
    }

    @Test func `a disk that is full at any write is waited for, and nothing is lost`() throws {
        let history = LaneHistory(seed: 6, records: 400)
        let count = try writeCount(of: history)
        var waits = 0
        for step in stride(from: 0, to: count, by: max(1, count / trialCount(base: 40))) {
            let path = directory.path + "/\(step)"
            var lane: Lane?
            // The first writes belong to the mark. There is no lane yet.
            store_faults_arm(Int32(step), 3, ENOSPC)
            while lane == nil {
                do { lane = try openLane(path) } catch let error as StoreError where error.isTransient {}
            }
            try history.applyRemaining(to: lane!, whenFull: { _ in waits += 1 })
            store_faults_disarm()
            try history.expectExactRows(in: lane!, "full at write \(step) of \(count)")
            try lane!.close()
            try FileManager.default.removeItem(atPath: path)
        }
        #expect(waits > 20)
    }

    @Test func `a restore that gives up on a full disk leaves no rows to serve`() throws {
        let history = LaneHistory(seed: 7, records: 300)
        let lane = try openLane(directory.path)
        store_faults_arm(4, 1000, ENOSPC)
        #expect(throws: StoreError.self) { try history.applyRemaining(to: lane) }
        store_faults_disarm()
        try lane.close()
        let reopened = try openLane(directory.path)
        #expect(reopened.appliedOffset == nil)
        try history.applyRemaining(to: reopened)
        try history.expectExactRows(in: reopened, "after giving up")
        try reopened.close()
    }

    /// Changes bytes while no process has the file. Each change is detected at the opening, or affects a byte
    /// that is never read. The served rows are exact, and later writes go to an intact file.
    @Test func `changed bytes are detected or change nothing`() throws {
        let history = LaneHistory(seed: 8, records: 600)
        let lane = try openLane(directory.path)
        try history.applyRemaining(to: lane)
        try lane.close()
        let data = URL(fileURLWithPath: directory.path + "/lane/data.mdb")
        let mark = URL(fileURLWithPath: directory.path + "/lane/mark")
        let (intactData, intactMark) = try (Data(contentsOf: data), Data(contentsOf: mark))
        let seed = UInt64.random(in: 0...999_999)
        var random = SeededGenerator(seed: seed)
        var discardedCount = 0
        let rounds = trialCount(base: 60)
        for round in 0..<rounds {
            var bytes = intactData
            // Between 1 and 64 bits change.
            for _ in 0..<(1 << (round % 7)) {
                bytes[random.number(below: bytes.count)] ^= UInt8(1 << random.number(below: 8))
            }
            try bytes.write(to: data)
            try intactMark.write(to: mark)
            try? FileManager.default.removeItem(atPath: directory.path + "/lane/data.mdb-lock")
            let context = "seed \(seed), round \(round)"
            do {
                let lane = try openLane(directory.path)
                if case .discarded = lane.openingState { discardedCount += 1 }
                try history.expectExactRows(in: lane, context)
                // The last record again, and then records that change rows.
                try history.applyRemaining(to: lane)
                for (key, _) in history.records.suffix(100) { try lane.apply(nil, to: key, offset: 600) }
                try lane.commit(601)
                try lane.close()
                let reopened = try openLane(directory.path)
                #expect(reopened.openingState == .resumed, "\(context)")
                try reopened.close()
            } catch {
                Issue.record("\(context): \(error)")
            }
        }
        #expect(discardedCount > 0 && discardedCount < rounds, "seed \(seed): \(discardedCount)")
    }

    @Test func `a row that changes under an open lane is not served, and the lane is rebuilt`() throws {
        let history = LaneHistory(seed: 10, records: 200)
        var lane = try openLane(directory.path)
        try history.applyRemaining(to: lane)
        let (starts, updates) = (lane.tables.starts, lane.tables.updates)
        try lane.file.write { transaction throws(StoreError) in
            for table in [starts, updates] {
                var rows = RowBatch()
                try transaction.snapshot.scan(table) { key, stored in
                    var changed = Array(stored)
                    changed[changed.count - 1] ^= 1
                    rows.put(key, value: changed.span)
                    return .next
                }
                try transaction.apply(rows, to: table)
            }
        }
        let error = #expect(throws: StoreError.self) { try history.expectExactRows(in: lane, "changed") }
        #expect(error?.isCorruption == true)
        try lane.markForRebuild(because: "a row is corrupt")
        lane = try openLane(directory.path)
        guard case .discarded(.markedUnusable) = lane.openingState else {
            Issue.record("\(lane.openingState)")
            return
        }
        try history.applyRemaining(to: lane)
        try history.expectExactRows(in: lane, "rebuilt")
        try lane.close()
    }

    @Test func `a recreated topic is detected even if it has the same length`() throws {
        let history = LaneHistory(seed: 9, records: 200)
        let lane = try openLane(directory.path)
        try history.applyRemaining(to: lane)
        try lane.close()
        func errorOfCommit(of row: TokenRow?, key: RegistryKey, at offset: Int64) throws -> StoreError? {
            let lane = try openLane(directory.path)
            #expect(lane.openingState == .resumed)
            #expect(lane.resumeOffset == 199)
            try lane.apply(row?.encoded(), to: key, offset: offset)
            defer { try? lane.close() }
            do { try lane.commit(offset + 1) } catch { return error as? StoreError }
            return nil
        }
        let last = history.records[199]
        let other = history.records[198]
        #expect(try errorOfCommit(of: last.row, key: last.key, at: 199) == nil, "the same record")
        #expect(
            try errorOfCommit(of: other.row, key: other.key, at: 199)?.isCorruption == true, "another record")
        #expect(
            try errorOfCommit(of: token(1), key: last.key, at: 199)?.isCorruption == true, "another value")
        #expect(
            try errorOfCommit(of: last.row, key: last.key, at: 200)?.isCorruption == true,
            "the record is gone")
        #expect(
            try errorOfCommit(of: last.row, key: last.key, at: 199) == nil,
            "and none of these records was written")
    }
}
