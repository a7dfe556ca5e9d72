import Simulation
import Telemetry
import Testing

@testable import Store

/// Random histories against a dictionary.
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
                let key = random.bytes(count: 1...3).map { $0 % 12 }
                if Int.random(in: 0..<4, using: &random) == 0 {
                    changes.remove(key.span)
                    next[key] = nil
                } else {
                    let value = random.bytes(
                        count: 0...(Int.random(in: 0..<20, using: &random) == 0 ? 9000 : 40))
                    changes.putWithChecksum(key.span, value: value.span)
                    next[key] = value
                }
            }
            if Bool.random(using: &random) { changes.sort() }
            let keeps = Int.random(in: 0..<5, using: &random) != 0
            let table = environment.table(named: "rows")
            try environment.write { transaction throws(StoreError) in
                try transaction.apply(changes, to: table)
                try transaction.setAppliedProgress(
                    AppliedProgress(offset: applied + 1, completeUntil: .now()), ofTopic: "t", partition: 0)
                if !keeps { transaction.rollBack() }
            }
            if keeps {
                model = next
                applied += 1
            }
            if Int.random(in: 0..<10, using: &random) == 0 {
                try environment.close()
                let damage = try TreeCheck.damage(in: environment.path)
                #expect(damage == nil)
                environment = try LMDBEnvironment(directory: directory.path, tables: ["rows"], limits: limits)
            }
            try compare(environment, model, &random)
        }
        try environment.read { picture throws(StoreError) in
            #expect(try picture.appliedProgress(ofTopic: "t", partition: 0)?.offset == applied)
        }
    }

    private func compare(
        _ environment: LMDBEnvironment, _ model: [[UInt8]: [UInt8]], _ random: inout SeededGenerator
    ) throws {
        let table = environment.table(named: "rows")
        let sorted = model.sorted { $0.key.lexicographicallyPrecedes($1.key) }
        #expect(try rows(environment, table) == sorted.map { [$0.key, $0.value] })
        let lower = random.bytes(count: 0...2).map { $0 % 12 }
        let upper = random.bytes(count: 1...2).map { $0 % 12 }
        let within = sorted.filter {
            !$0.key.lexicographicallyPrecedes(lower) && $0.key.lexicographicallyPrecedes(upper)
        }
        #expect(
            try rows(environment, table, KeyRange(from: lower, upTo: upper))
                == within.map { [$0.key, $0.value] })
        let count = try environment.read { picture throws(StoreError) in try picture.count(of: table) }
        #expect(count == model.count)
        let (asked, other) = (
            random.bytes(count: 1...3).map { $0 % 12 }, random.bytes(count: 1...3).map { $0 % 12 }
        )
        let gap = try environment.read { picture throws(StoreError) in
            try picture.keyGap(at: asked.span, in: table)
        }
        let isBehind = !other.lexicographicallyPrecedes(asked)
        let next = sorted.first { !$0.key.lexicographicallyPrecedes(asked) }?.key
        #expect((gap == nil) == (next == asked))
        if let gap {
            #expect(
                gap.contains(other.span)
                    == (isBehind && next.map { other.lexicographicallyPrecedes($0) } ?? true))
        }
    }

    @Test func `a range is removed in bounded steps`() throws {
        let directory = TemporaryDirectory()
        let environment = try LMDBEnvironment(directory: directory.path, tables: ["rows"])
        let table = environment.table(named: "rows")
        for key in UInt8(0)..<10 { try environment.put([key % 2, key], [], in: table) }
        func remove(_ rowsMax: Int) throws -> Int {
            try environment.write { transaction throws(StoreError) in
                try transaction.remove(KeyRange(prefix: [1]), in: table, rowsMax: rowsMax)
            }
        }
        #expect(try remove(3) == 3)
        #expect(try remove(3) == 2)
        #expect(try remove(3) == 0)
        #expect(try rows(environment, table).count == 5)
        try environment.write { transaction throws(StoreError) in try transaction.removeAll(in: table) }
        #expect(try rows(environment, table) == [])
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
        #expect(try environment.value([7], in: table) == [19])
        #expect(try environment.value([3, 5], in: table) == nil)
        batch.removeAll()
        #expect(batch.count == 0)
    }
}
