import Containers
import Simulation
import Testing

@Test func `a queue gives its items in the order of their arrival`() {
    var random = SeededGenerator(seed: 1)
    for _ in 0..<50 {
        var queue = FIFOQueue<Int>()
        var model: [Int] = []
        for number in 0..<1000 {
            switch random.number(below: 100) {
            case ..<55:
                queue.append(number)
                model.append(number)
            case ..<97:
                guard !model.isEmpty else { continue }
                queue.removeFirst()
                model.removeFirst()
            case ..<98:
                queue.removeAll { $0.isMultiple(of: 3) }
                model.removeAll { $0.isMultiple(of: 3) }
            default:
                queue.replaceAll { $0 + 1 }
                model = model.map { $0 + 1 }
            }
            #expect(queue.count == model.count && queue.isEmpty == model.isEmpty)
            #expect(queue.first == model.first && queue.last == model.last)
        }
    }
}
