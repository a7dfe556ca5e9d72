import Simulation
import Testing

@testable import Sender

@Test(arguments: 0..<20)
func `a table of subjects behaves like a set`(seed: Int) {
    var random = SeededGenerator(seed: seed)
    var table = SubjectTable()
    var model: Set<UInt64> = []
    // The range is small, so that numbers repeat. Half of the numbers are shifted by 32 bits, so that they share a home
    // slot and a removal moves them. 0 is left out, because the table takes it for 1.
    let numberEnd = UInt64(1 << (3 + random.number(below: 10)))
    for _ in 0..<trialCount(base: 5_000) {
        let number = UInt64.random(in: 1..<numberEnd, using: &random)
        let subject = number << UInt64(random.number(below: 2) * 32)
        // The table grows to about 500 subjects.
        let insertions = model.count > 500 ? 1 : 3
        if random.number(below: 5) < insertions {
            let isNew = table.insert(subject)
            #expect(isNew == model.insert(subject).inserted)
        } else {
            table.remove(subject)
            model.remove(subject)
        }
        #expect(table.count == model.count)
        #expect(table.contains(subject) == model.contains(subject))
    }
    #expect(model.allSatisfy(table.contains))
    for subject in model { table.remove(subject) }
    #expect(table.count == 0)
}
