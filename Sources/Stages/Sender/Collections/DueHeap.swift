internal import Lifecycle

/// A queue of items that wait for a time, the earliest first.
struct DueHeap<Item> {
    private var heap: [(due: Instant, item: Item)] = []

    var earliest: Instant? { heap.first?.due }
    var count: Int { heap.count }

    mutating func add(_ item: Item, at due: Instant) {
        heap.append((due, item))
        var child = heap.count - 1
        while child > 0, heap[child].due < heap[(child - 1) / 2].due {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    mutating func takeDue(at now: Instant) -> Item? {
        guard let first = heap.first, first.due <= now else { return nil }
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2]
            where child < heap.count && heap[child].due < heap[least].due { least = child }
            if least == parent { return first.item }
            heap.swapAt(parent, least)
            parent = least
        }
    }
}
