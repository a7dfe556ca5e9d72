import Simulation
import Stages
import Testing

@testable import Ingest

@Suite struct BoundAndTableTests {
    @Test func `each failure halves what a transaction takes, each success doubles it up to the most`() {
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

    @Test func `numbers are found again by hash, whatever else has that hash`() {
        var random = SeededGenerator(1)
        var table = NumberTable()
        for _ in 0..<3 {
            var hashes: [UInt32] = []
            for _ in 0..<5000 {
                // A seventh of them share a few hashes, the others what a division by 16 leaves.
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
