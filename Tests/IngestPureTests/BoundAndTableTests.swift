import Simulation
import StageSupport
import Testing

@testable import Ingest

@Suite struct BoundAndTableTests {
    @Test func `a failure halves the records of a transaction, a success doubles them up to the limit`() {
        var bound = TransactionSizeLimit(recordsMax: 1000)
        bound.shrink(afterFailureOf: 700)
        #expect(bound.records == 350)
        bound.shrink(afterFailureOf: 350)
        #expect(bound.records == 175)
        for _ in 0..<20 { bound.shrink(afterFailureOf: bound.records) }
        #expect(bound.records == 1)
        bound.grow()
        #expect(bound.records == 2)
        for _ in 0..<20 { bound.grow() }
        #expect(bound.records == 1000)
    }

    @Test func `numbers are found by hash even if hashes collide`() {
        var random = SeededGenerator(seed: 1)
        var table = HashIndex()
        for _ in 0..<3 {
            var hashes: [UInt32] = []
            for _ in 0..<5000 {
                // A seventh of them share three hashes. The others are multiples of 16.
                let hash =
                    random.number(below: 7) == 0
                    ? UInt32(random.number(below: 3)) : UInt32(random.number(below: 1 << 20)) << 4
                table.add(hash: hash)
                hashes.append(hash)
            }
            #expect(table.count == hashes.count)
            for (number, hash) in hashes.enumerated() {
                var probe = table.makeProbe(hash: hash)
                var found: [Int] = []
                while let next = table.nextNumber(for: &probe) { found.append(next) }
                #expect(found.contains(number) && found.allSatisfy { hashes[$0] == hash })
            }
            table.removeAll()
            var probe = table.makeProbe(hash: hashes[0])
            #expect(table.nextNumber(for: &probe) == nil)
        }
    }
}
