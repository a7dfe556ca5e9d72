import Simulation
import Telemetry
import Testing

@testable import Store

/// Random changes of a file, compared with a dictionary that gets the same changes.
struct ModelTests {
    @Test(arguments: 1...8) func `a random history leaves the rows that a dictionary has`(seed: UInt64) throws
    {
        let directory = TemporaryDirectory()
        var random = SeededGenerator(seed: seed)
        let limits = EnvironmentLimits(mapBytesAtStart: 1 << 20)
        var environment = try LMDBEnvironment(directory: directory.path, tables: ["rows"], limits: limits)
        var model: [[UInt8]: [UInt8]] = [:]
        var applied: Int64 = 0
        for _ in 0..<50 {
            var next = model
            var changes = RowBatch()
            for _ in 0..<Int.random(in: 1...80, using: &random) {
                // Few different keys, so that changes meet earlier rows.
                let key = random.bytes(count: 1...3).map { $0 % 12 }
                if Int.random(in: 0..<4, using: &random) == 0 {
                    changes.remove(key.span)
                    next[key] = nil
                } else {
                    // LMDB keeps a large value in separate pages.
                    let bytesMax = Int.random(in: 0..<20, using: &random) == 0 ? 9_000 : 40
                    let value = random.bytes(count: 0...bytesMax)
                    changes.putWithChecksum(key.span, value: value.span)
                    next[key] = value
                }
            }
            if Bool.random(using: &random) { changes.sort() }
            let commits = Int.random(in: 0..<5, using: &random) != 0
            let table = environment.table(named: "rows")
            try environment.write { transaction throws(StoreError) in
                try transaction.apply(changes, to: table)
                try transaction.setAppliedProgress(
                    AppliedProgress(offset: applied + 1, completeUntil: .now()), ofTopic: "t", partition: 0)
                if !commits { transaction.rollBack() }
            }
            if commits {
                model = next
                applied += 1
            }
            if Int.random(in: 0..<10, using: &random) == 0 {
                try environment.close()
                let damage = try TreeCheck.damage(in: environment.path)
                #expect(damage == nil)
                environment = try LMDBEnvironment(directory: directory.path, tables: ["rows"], limits: limits)
            }
            try compare(environment, with: model, using: &random)
        }
        try environment.read { snapshot throws(StoreError) in
            #expect(try snapshot.appliedProgress(ofTopic: "t", partition: 0)?.offset == applied)
        }
    }

    /// Compares all rows, a random range, the count, and the gap at a random key.
    private func compare(
        _ environment: LMDBEnvironment, with model: [[UInt8]: [UInt8]], using random: inout SeededGenerator
    ) throws {
        let table = environment.table(named: "rows")
        let sorted = model.sorted { $0.key.lexicographicallyPrecedes($1.key) }
        #expect(try environment.rows(of: table) == sorted.map { StoredRow(key: $0.key, value: $0.value) })
        let lower = random.bytes(count: 0...2).map { $0 % 12 }
        let upper = random.bytes(count: 1...2).map { $0 % 12 }
        let rowsInRange = sorted.filter {
            !$0.key.lexicographicallyPrecedes(lower) && $0.key.lexicographicallyPrecedes(upper)
        }
        #expect(
            try environment.rows(of: table, range: KeyRange(from: lower, upTo: upper))
                == rowsInRange.map { StoredRow(key: $0.key, value: $0.value) })
        let count = try environment.read { snapshot throws(StoreError) in try snapshot.count(of: table) }
        #expect(count == model.count)
        try compareGap(in: table, of: environment, sorted: sorted, using: &random)
    }

    /// A gap begins at a key without a row, and ends before the next row.
    private func compareGap(
        in table: Table, of environment: LMDBEnvironment, sorted: [(key: [UInt8], value: [UInt8])],
        using random: inout SeededGenerator
    ) throws {
        let asked = random.bytes(count: 1...3).map { $0 % 12 }
        let other = random.bytes(count: 1...3).map { $0 % 12 }
        let gap = try environment.read { snapshot throws(StoreError) in
            try snapshot.keyGap(at: asked.span, in: table)
        }
        let isAtOrBehindAsked = !other.lexicographicallyPrecedes(asked)
        let nextKey = sorted.first { !$0.key.lexicographicallyPrecedes(asked) }?.key
        #expect((gap == nil) == (nextKey == asked))
        if let gap {
            let isBeforeNextKey = nextKey.map { other.lexicographicallyPrecedes($0) } ?? true
            #expect(gap.contains(other.span) == (isAtOrBehindAsked && isBeforeNextKey))
        }
    }

    @Test func `a range is removed in bounded steps`() throws {
        let directory = TemporaryDirectory()
        let environment = try LMDBEnvironment(directory: directory.path, tables: ["rows"])
        let table = environment.table(named: "rows")
        for key in UInt8(0)..<10 { try environment.put([key % 2, key], value: [], in: table) }
        func removeRows(atMost rowsMax: Int) throws -> Int {
            try environment.write { transaction throws(StoreError) in
                try transaction.remove(KeyRange(prefix: [1]), in: table, rowsMax: rowsMax)
            }
        }
        #expect(try removeRows(atMost: 3) == 3)
        #expect(try removeRows(atMost: 3) == 2)
        #expect(try removeRows(atMost: 3) == 0)
        #expect(try environment.rows(of: table).count == 5)
        try environment.write { transaction throws(StoreError) in try transaction.removeAll(in: table) }
        #expect(try environment.rows(of: table) == [])
    }

    @Test func `the last change of a key in a sorted batch wins`() throws {
        let directory = TemporaryDirectory()
        let environment = try LMDBEnvironment(directory: directory.path, tables: ["rows"])
        let table = environment.table(named: "rows")
        var batch = RowBatch()
        for round in UInt8(0)..<20 {
            batch.putWithChecksum([7].span, value: [round].span)
            batch.putWithChecksum([3, round].span, value: [round].span)
        }
        batch.remove([3, 5].span)
        batch.sort()
        try environment.write { transaction throws(StoreError) in try transaction.apply(batch, to: table) }
        #expect(try environment.value(of: [7], in: table) == [19])
        #expect(try environment.value(of: [3, 5], in: table) == nil)
        batch.removeAll()
        #expect(batch.count == 0)
    }
}
