import Simulation
import StageSupport
import Testing

@testable import Ingest

@Suite struct BoundAndTableTests {
    @Test func `a failure halves the records of a transaction, a success doubles them up to the limit`() {
        var bound = TransactionBound(recordsMax: 1000)
        bound.failed(700)
        #expect(bound.records == 350)
        bound.failed(350)
        #expect(bound.records == 175)
        for _ in 0..<20 { bound.failed(bound.records) }
        #expect(bound.records == 1)
        bound.committed()
        #expect(bound.records == 2)
        for _ in 0..<20 { bound.committed() }
        #expect(bound.records == 1000)
    }

    @Test func `numbers are found by hash even if hashes collide`() {
        var random = SeededGenerator(1)
        var table = NumberTable()
        for _ in 0..<3 {
            var hashes: [UInt32] = []
            for _ in 0..<5000 {
                // A seventh of them share three hashes. The others are multiples of 16.
                let hash = random.below(7) == 0 ? UInt32(random.below(3)) : UInt32(random.below(1 << 20)) << 4
                table.add(hash)
                hashes.append(hash)
            }
            #expect(table.count == hashes.count)
            for (number, hash) in hashes.enumerated() {
                var probe = table.probe(hash)
                var found: [Int] = []
                while let next = table.next(&probe) { found.append(next) }
                #expect(found.contains(number) && found.allSatisfy { hashes[$0] == hash })
            }
            table.removeAll()
            var probe = table.probe(hashes[0])
            #expect(table.next(&probe) == nil)
        }
    }
}
