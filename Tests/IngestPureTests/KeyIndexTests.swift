import Simulation
import StageSupport
import Testing

/// Tests of the index from a key's hash to the number of its row, against a dictionary. Many hashes are equal or
/// adjacent, because collisions are the hard case.
@Suite struct KeyIndexTests {
    @Test func `after any inserts, removals and renumberings the index finds the same as a dictionary`() {
        var seeds = SystemRandomNumberGenerator()
        // It is shifted, so that the range cannot overflow.
        let firstSeed = seeds.next() >> 16
        for seed in firstSeed..<firstSeed + UInt64(trialCount(base: 200)) {
            var random = SeededGenerator(seed: seed)
            let hashCount = 1 + random.number(below: 60)
            // The hashes are adjacent, or far apart.
            let hashFactor = random.number(below: 2) == 0 ? 1 : 0x0123_4567_89AB
            func hash(_ key: Int) -> Int { key % hashCount * hashFactor }
            let keyCount = 80
            var index = KeyIndex()
            /// The number of each key.
            var model: [Int: Int] = [:]
            var nextNumber = 0
            for step in 0..<400 {
                let key = random.number(below: keyCount)
                switch (model[key], random.number(below: 60)) {
                case (_, 0):
                    index.removeAll()
                    model = [:]
                case (let number?, 1...20):
                    index.renumber(number, to: nextNumber, hash: hash(key))
                    model[key] = nextNumber
                    nextNumber += 1
                case (let number?, _):
                    index.remove(number, hash: hash(key))
                    model[key] = nil
                case (nil, _):
                    index.insert(nextNumber, hash: hash(key))
                    model[key] = nextNumber
                    nextNumber += 1
                }
                #expect(index.count == model.count, "seed \(seed), step \(step)")
                for key in 0..<keyCount {
                    let found = index.number(hash: hash(key)) { model[key] == $0 }
                    #expect(found == model[key], "seed \(seed), step \(step), key \(key)")
                }
            }
        }
    }
}
