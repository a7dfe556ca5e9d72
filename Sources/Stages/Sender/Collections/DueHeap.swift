internal import Containers
internal import Lifecycle

/// A queue of items that wait for a time, the earliest first.
struct DueHeap<Item> {
    private struct Entry: Comparable {
        let due: Instant
        let item: Item

        static func < (left: Entry, right: Entry) -> Bool { left.due < right.due }
        static func == (left: Entry, right: Entry) -> Bool { left.due == right.due }
    }

    private var entries = MinHeap<Entry>()

    var earliest: Instant? { entries.first?.due }

    mutating func add(_ item: Item, at due: Instant) { entries.push(Entry(due: due, item: item)) }

    /// Removes the earliest item if its time has come, and returns it.
    mutating func takeDue(at now: Instant) -> Item? { entries.pop { $0.due <= now }?.item }
}
