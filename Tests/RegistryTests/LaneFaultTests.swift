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

/// Deaths, full disks and changed bytes at every position of a restore and of the work after it.
/// `deploy/prove registry-faults` runs a hundred times as many cases.
struct LaneFaultTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    /// Returns the number of writes in a life: runs, tables, marks, commits.
    private func writes(of life: Life) throws -> Int {
        let other = try TemporaryDirectory()
        store_faults_arm(.max, 0, 0)
        defer { store_faults_disarm() }
        let lane = try openLane(other.path)
        try life.run(lane)
        try lane.close()
        return Int(store_faults_disarm())
    }

    @Test func `a lane killed at any write restarts or continues, and is exact`() async throws {
        let life = Life(seed: 5, records: 900)
        // Another process may make a few writes less, so the counted number is not always reached.
        let count = try writes(of: life) - 8
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
                try Life(seed: 5, records: 900).run(lane)
                try lane.close()
            }
            let lane = try openLane(path)
            if lane.appliedOffset != nil { resumed += 1 }
            try life.judge(lane, "after a kill at write \(step) of \(count)")
            try life.run(lane)
            try life.judge(lane, "at the end, after a kill at write \(step) of \(count)")
            try lane.close()
            try FileManager.default.removeItem(atPath: path)
        }
        #expect(steps.count < count || resumed > 0 && resumed < count)
    }

    @Test func `a disk that is full at any write is waited for, and nothing is lost`() throws {
        let life = Life(seed: 6, records: 400)
        let count = try writes(of: life)
        var waits = 0
        for step in stride(from: 0, to: count, by: max(1, count / trialCount(base: 40))) {
            let path = directory.path + "/\(step)"
            var lane: Lane?
            // The first writes belong to the mark. There is no lane yet.
            store_faults_arm(Int32(step), 3, ENOSPC)
            while lane == nil {
                do { lane = try openLane(path) } catch let error as StoreError where error.isTransient {}
            }
            try life.run(lane!, whenFull: { _ in waits += 1 })
            store_faults_disarm()
            try life.judge(lane!, "full at write \(step) of \(count)")
            try lane!.close()
            try FileManager.default.removeItem(atPath: path)
        }
        #expect(waits > 20)
    }

    @Test func `a restore that gives up on a full disk leaves no rows to serve`() throws {
        let life = Life(seed: 7, records: 300)
        let lane = try openLane(directory.path)
        store_faults_arm(4, 1000, ENOSPC)
        #expect(throws: StoreError.self) { try life.run(lane) }
        store_faults_disarm()
        try lane.close()
        let again = try openLane(directory.path)
        #expect(again.appliedOffset == nil)
        try life.run(again)
        try life.judge(again, "after giving up")
        try again.close()
    }

    /// Changes bytes while no process has the file. Each change is detected at the opening, or affects a byte
    /// that is never read. The served rows are exact, and later writes go to an intact file.
    @Test func `changed bytes are detected or change nothing`() throws {
        let life = Life(seed: 8, records: 600)
        let lane = try openLane(directory.path)
        try life.run(lane)
        try lane.close()
        let data = URL(fileURLWithPath: directory.path + "/lane/data.mdb")
        let mark = URL(fileURLWithPath: directory.path + "/lane/mark")
        let whole = try (Data(contentsOf: data), Data(contentsOf: mark))
        let seed = UInt64.random(in: 0...999_999)
        var random = SeededGenerator(seed: seed)
        var found = 0
        let rounds = trialCount(base: 60)
        for round in 0..<rounds {
            var bytes = whole.0
            for _ in 0..<(1 << (round % 7)) {
                bytes[random.number(below: bytes.count)] ^= UInt8(1 << random.number(below: 8))
            }
            try bytes.write(to: data)
            try whole.1.write(to: mark)
            try? FileManager.default.removeItem(atPath: directory.path + "/lane/data.mdb-lock")
            let what = "seed \(seed), round \(round)"
            do {
                let lane = try openLane(directory.path)
                if case .discarded = lane.openingState { found += 1 }
                try life.judge(lane, what)
                // The last record again, and then records that change rows.
                try life.run(lane)
                for (key, _) in life.records.suffix(100) { try lane.hear(key, nil, offset: 600) }
                try lane.commit(601)
                try lane.close()
                let again = try openLane(directory.path)
                #expect(again.openingState == .resumed, "\(what)")
                try again.close()
            } catch {
                Issue.record("\(what): \(error)")
            }
        }
        #expect(found > 0 && found < rounds, "seed \(seed): \(found)")
    }

    @Test func `a row that changes under an open lane is not served, and the lane is rebuilt`() throws {
        let life = Life(seed: 10, records: 200)
        var lane = try openLane(directory.path)
        try life.run(lane)
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
        let error = #expect(throws: StoreError.self) { try life.judge(lane, "changed") }
        #expect(error?.isCorruption == true)
        try lane.markForRebuild(because: "a row is corrupt")
        lane = try openLane(directory.path)
        guard case .discarded(.markedUnusable) = lane.openingState else {
            return #expect(Bool(false), "\(lane.openingState)")
        }
        try life.run(lane)
        try life.judge(lane, "rebuilt")
        try lane.close()
    }

    @Test func `a recreated topic is detected even if it has the same length`() throws {
        let life = Life(seed: 9, records: 200)
        let lane = try openLane(directory.path)
        try life.run(lane)
        try lane.close()
        func commits(_ offset: Int64, _ key: RegistryKey, _ row: TokenRow?) throws -> StoreError? {
            let lane = try openLane(directory.path)
            #expect(lane.openingState == .resumed)
            #expect(lane.resumeOffset == 199)
            try lane.hear(key, row?.encoded(), offset: offset)
            defer { try? lane.close() }
            do { try lane.commit(offset + 1) } catch { return error as? StoreError }
            return nil
        }
        let last = life.records[199]
        let other = life.records[198]
        #expect(try commits(199, last.key, last.row) == nil, "the same record")
        #expect(try commits(199, other.key, other.row)?.isCorruption == true, "another record")
        #expect(try commits(199, last.key, token(1))?.isCorruption == true, "another value")
        #expect(try commits(200, last.key, last.row)?.isCorruption == true, "the record is gone")
        #expect(try commits(199, last.key, last.row) == nil, "and none of these records was written")
    }
}
