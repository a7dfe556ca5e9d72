internal import Lifecycle

/// A queue of deadlines that are mostly postponed.
///
/// A heartbeat must be cheap, so it does not change the queue. When a key is taken, its owner checks the
/// real deadline and schedules the key again. Each key has one current entry; older entries are skipped
/// when they are due.
struct DeadlineQueue<Key: Hashable> {
    private struct Entry {
        let at: Instant
        let order: UInt64
        let key: Key

        func isBefore(_ other: Entry) -> Bool { at == other.at ? order < other.order : at < other.at }
    }

    private var heap: [Entry] = []
    private var current: [Key: Instant] = [:]
    private var order: UInt64 = 0

    var earliest: Instant? { heap.first?.at }

    mutating func schedule(_ key: Key, at deadline: Instant) {
        if let scheduled = current[key], scheduled <= deadline { return }
        current[key] = deadline
        order += 1
        heap.append(Entry(at: deadline, order: order, key: key))
        siftUp(from: heap.count - 1)
    }

    mutating func remove(_ key: Key) { current[key] = nil }

    /// Removes and returns the due keys, the earliest first.
    mutating func takeDue(at now: Instant) -> [Key] {
        var due: [Key] = []
        while let key = popDue(at: now) { due.append(key) }
        return due
    }

    private mutating func popDue(at now: Instant) -> Key? {
        while let first = heap.first {
            let stale = current[first.key] != first.at
            guard stale || first.at <= now else { return nil }
            removeFirst()
            if stale { continue }
            current[first.key] = nil
            return first.key
        }
        return nil
    }

    private mutating func removeFirst() {
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2]
            where child < heap.count && heap[child].isBefore(heap[least]) {
                least = child
            }
            if least == parent { return }
            heap.swapAt(parent, least)
            parent = least
        }
    }

    private mutating func siftUp(from start: Int) {
        var child = start
        while child > 0 {
            let parent = (child - 1) / 2
            guard heap[child].isBefore(heap[parent]) else { return }
            heap.swapAt(child, parent)
            child = parent
        }
    }
}
