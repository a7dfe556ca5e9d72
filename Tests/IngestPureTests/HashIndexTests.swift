import Simulation
import StageSupport
import Testing

@testable import Ingest

/// Tests of `HashIndex`, which finds the numbers of elements by the hashes of their keys.
@Suite struct HashIndexTests {
    @Test func `a hash finds the numbers of all elements with this hash, and no others`() {
        var random = SeededGenerator(seed: 1)
        var index = HashIndex()
        for _ in 0..<3 {
            var hashes: [UInt32] = []
            for _ in 0..<5000 {
                // A seventh of the elements share three hashes. The other hashes are multiples of 16.
                let isShared = random.number(below: 7) == 0
                let hash =
                    isShared ? UInt32(random.number(below: 3)) : UInt32(random.number(below: 1 << 20)) << 4
                index.add(hash: hash)
                hashes.append(hash)
            }
            #expect(index.count == hashes.count)
            for (number, hash) in hashes.enumerated() {
                var probe = index.makeProbe(hash: hash)
                var numbers: [Int] = []
                while let next = index.nextNumber(for: &probe) { numbers.append(next) }
                #expect(numbers.contains(number), "the index lost the number \(number)")
                #expect(numbers.allSatisfy { hashes[$0] == hash })
            }
            index.removeAll()
            var probe = index.makeProbe(hash: hashes[0])
            #expect(index.nextNumber(for: &probe) == nil)
        }
    }
}
