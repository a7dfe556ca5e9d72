internal import Lifecycle

/// A queue of deadlines that are usually postponed before they are due. It is a binary heap.
///
/// A postponement must be cheap, because it comes with each heartbeat, so it does not change the queue. When
/// a key is taken, its owner checks the real deadline and schedules the key again.
struct DeadlineQueue<Key: Hashable> {
    private struct Entry {
        let deadline: Instant
        /// The number of the entry, which orders entries with the same deadline.
        let order: UInt64
        let key: Key

        func isBefore(_ other: Entry) -> Bool {
            deadline == other.deadline ? order < other.order : deadline < other.deadline
        }
    }

    private var heap: [Entry] = []
    /// The deadline of each key's current entry. All other entries of the key are stale.
    private var currentDeadlines: [Key: Instant] = [:]
    private var entryCount: UInt64 = 0

    /// The deadline of the first entry, which may be stale. So a caller may wake too early, but not late.
    var earliest: Instant? { heap.first?.deadline }

    /// Schedules a key, unless an earlier or equal deadline is scheduled for it.
    mutating func schedule(_ key: Key, at deadline: Instant) {
        if let scheduled = currentDeadlines[key], scheduled <= deadline { return }
        currentDeadlines[key] = deadline
        entryCount += 1
        heap.append(Entry(deadline: deadline, order: entryCount, key: key))
        siftUp(from: heap.count - 1)
    }

    mutating func remove(_ key: Key) { currentDeadlines[key] = nil }

    /// Removes and returns the due keys, the earliest first.
    mutating func takeDue(at now: Instant) -> [Key] {
        var due: [Key] = []
        while let key = popDue(at: now) { due.append(key) }
        return due
    }

    private mutating func popDue(at now: Instant) -> Key? {
        while let first = heap.first {
            let isStale = currentDeadlines[first.key] != first.deadline
            guard isStale || first.deadline <= now else { return nil }
            removeFirst()
            if isStale { continue }
            currentDeadlines[first.key] = nil
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
