import Simulation
import StageSupport
import Testing

/// The key index against a dictionary. Many hashes are equal or adjacent.
@Suite struct KeyIndexTests {
    @Test func `after any inserts, removals and renumberings the index finds the same as a dictionary`() {
        var seeds = SystemRandomNumberGenerator()
        let base = seeds.next() >> 16
        for seed in base..<base + UInt64(trialCount(base: 200)) {
            var random = SeededGenerator(seed: seed)
            let (hashes, spread) = (
                1 + random.number(below: 60), random.number(below: 2) == 0 ? 1 : 0x0123_4567_89AB
            )
            func hash(_ key: Int) -> Int { key % hashes * spread }
            var (index, model): (KeyIndex, [Int: Int]) = (KeyIndex(), [:])
            var numbers = 0
            for step in 0..<400 {
                let key = random.number(below: 80)
                switch (model[key], random.number(below: 60)) {
                case (_, 0):
                    index.removeAll()
                    model = [:]
                case (let number?, 1...20):
                    index.renumber(number, to: numbers, hash: hash(key))
                    model[key] = numbers
                    numbers += 1
                case (let number?, _):
                    index.remove(number, hash: hash(key))
                    model[key] = nil
                case (nil, _):
                    index.insert(numbers, hash: hash(key))
                    model[key] = numbers
                    numbers += 1
                }
                #expect(index.count == model.count, "seed \(seed), step \(step)")
                for key in 0..<80 {
                    let found = index.number(hash: hash(key)) { model[key] == $0 }
                    #expect(found == model[key], "seed \(seed), step \(step), key \(key)")
                }
            }
        }
    }
}
