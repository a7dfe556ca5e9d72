import Containers
import Simulation
import Testing

// A heap, compared with a sorted array.

@Test func `a heap gives its elements in order, independent of the order of insertion`() {
    var random = SeededGenerator(seed: 1)
    for _ in 0..<100 {
        var heap = MinHeap<Int>()
        var model: [Int] = []
        for _ in 0..<200 {
            switch random.number(below: 5) {
            case 0...2:
                let number = random.number(below: 50)
                heap.push(number)
                model.append(number)
            case 3:
                model.sort()
                #expect(heap.pop() == (model.isEmpty ? nil : model.removeFirst()))
            default:
                guard random.number(below: 20) == 0, !model.isEmpty else { continue }
                model.sort()
                model.removeSubrange(min(10, model.count)...)
                #expect(heap.keepSmallest(10) == model.last)
            }
            #expect(heap.count == model.count && heap.isEmpty == model.isEmpty)
            #expect(heap.first == model.min())
        }
    }
}
