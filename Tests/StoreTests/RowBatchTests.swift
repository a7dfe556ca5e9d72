import Simulation
import Testing

@testable import Store

/// Batches of row changes: their order, and the checksums of their rows.
struct RowBatchTests {
    @Test func `batches of any size are sorted by key, and changes of one key keep their order`() {
        for seed in 1...UInt64(trialCount(base: 60)) {
            var random = SeededGenerator(seed: seed)
            var batch = RowBatch()
            var model: [[UInt8]: [UInt8]] = [:]
            let prefixes: [[UInt8]] = [[], [1, 2], Array("match-2026-11-20-final".utf8), [0], [255]]
            for number in 0..<random.number(below: 2000) {
                let suffix = random.bytes(count: 0...(number % 4 == 0 ? 20 : 2))
                let key = [7] + prefixes[random.number(below: prefixes.count)] + suffix
                let value = Array("\(number)".utf8)
                batch.put(key.span, value: value.span)
                model[key] = value
            }
            batch.sort()
            var previousKey: [UInt8] = []
            var newest: [[UInt8]: [UInt8]] = [:]
            for index in 0..<batch.count {
                let key = array(batch.key(at: index))
                #expect(!key.lexicographicallyPrecedes(previousKey), "seed \(seed)")
                previousKey = key
                newest[key] = array(batch.value(at: index)!)
            }
            #expect(newest == model, "seed \(seed)")
        }
    }

    @Test func `rows before a refused key count in the sums of the file if they are committed`() throws {
        for isAppended in [true, false] {
            let directory = TemporaryDirectory()
            let environment = try LMDBEnvironment(directory: directory.path, tables: ["rows"])
            let table = environment.table(named: "rows")
            var batch = RowBatch()
            batch.putWithChecksum([1].span, value: [5].span)
            let longKey = [UInt8](repeating: 2, count: EnvironmentLimits.keyBytesMax + 1)
            batch.putWithChecksum(longKey.span, value: [6].span)
            try environment.write { transaction in
                do throws(StoreError) {
                    if isAppended {
                        try transaction.append(batch, to: table)
                    } else {
                        try transaction.apply(batch, to: table)
                    }
                } catch {
                    #expect(error == .invalidKeySize(bytes: longKey.count))
                }
            }
            #expect(try environment.rows(of: table) == [StoredRow(key: [1], value: [5])])
            try environment.close()
            #expect(try TreeCheck.damage(in: environment.path) == nil)
        }
    }

    @Test func `a row with a checksum is read without it, and a changed one is corruption`()
        throws
    {
        let directory = TemporaryDirectory()
        let environment = try LMDBEnvironment(directory: directory.path, tables: ["rows"])
        let table = environment.table(named: "rows")
        var batch = RowBatch()
        batch.putWithChecksum([1].span, value: [5, 6].span)
        let nothing: [UInt8] = []
        batch.putWithChecksum([2].span, value: nothing.span)
        try environment.write { transaction throws(StoreError) in
            try transaction.append(batch, to: table)
            try transaction.put([3].span, value: [7].span, in: table)
        }
        func value(of key: [UInt8]) throws -> [UInt8]? {
            try environment.read { snapshot throws(StoreError) in
                guard let value = try snapshot.value(of: key.span, in: table) else { return nil }
                return array(value)
            }
        }
        #expect(try value(of: [1]) == [5, 6])
        #expect(try value(of: [2]) == [])
        #expect(try value(of: [3]) == [7])
        #expect(try value(of: [4]) == nil)
        // Four bytes of a checksum that does not match its value.
        var wrong = RowBatch()
        wrong.put([3].span, value: [0, 0, 0, 0, 7].span)
        try environment.write { transaction throws(StoreError) in try transaction.apply(wrong, to: table) }
        #expect(throws: StoreError.changedRow(path: environment.path)) { try value(of: [3]) }
    }
}
