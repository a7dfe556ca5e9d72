import Simulation
import Testing

@testable import Sender

@Test(arguments: 0..<20)
func `a table of subjects holds what a set holds`(seed: Int) {
    var random = SeededGenerator(seed: seed)
    var table = SubjectTable()
    var model: Set<UInt64> = []
    // 0 marks an empty place. The range is small, so that numbers repeat. Some numbers have neighboring
    // places, so that they are moved.
    let range = UInt64(1 << (3 + random.number(below: 10)))
    for _ in 0..<trialCount(base: 5_000) {
        let subject = UInt64.random(in: 1..<range, using: &random) << UInt64(random.number(below: 2) * 32)
        if random.number(below: 5) < 3 - (model.count > 500 ? 2 : 0) {
            let isNew = table.insert(subject)
            #expect(isNew == model.insert(subject).inserted)
        } else {
            table.remove(subject)
            model.remove(subject)
        }
        #expect(table.count == model.count && table.contains(subject) == model.contains(subject))
    }
    #expect(model.allSatisfy(table.contains))
    for subject in model { table.remove(subject) }
    #expect(table.count == 0)
}
