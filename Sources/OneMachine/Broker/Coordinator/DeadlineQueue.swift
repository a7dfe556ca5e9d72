internal import Containers
internal import Lifecycle

/// A queue of deadlines that are usually postponed before they are due.
///
/// A postponement must be cheap, because it comes with each heartbeat. So the owner of a key changes only its own
/// deadline, and the queue keeps the earlier one. When the owner takes the key too early, it schedules the key again.
struct DeadlineQueue<Key: Hashable> {
    private struct Entry: Comparable {
        let deadline: Instant
        /// The number of the entry, which orders entries with the same deadline.
        let order: UInt64
        let key: Key

        static func < (left: Entry, right: Entry) -> Bool {
            left.deadline == right.deadline ? left.order < right.order : left.deadline < right.deadline
        }

        static func == (left: Entry, right: Entry) -> Bool { left.order == right.order }
    }

    private var entries = MinHeap<Entry>()
    /// The deadline of each key's current entry. All other entries of the key are stale.
    private var currentDeadlines: [Key: Instant] = [:]
    private var entryCount: UInt64 = 0

    /// The deadline of the first entry, which may be stale. So a caller may wake too early, but not late.
    var earliest: Instant? { entries.first?.deadline }

    /// Schedules a key, unless an earlier or equal deadline is scheduled for it.
    mutating func schedule(_ key: Key, at deadline: Instant) {
        if let scheduled = currentDeadlines[key], scheduled <= deadline { return }
        currentDeadlines[key] = deadline
        entryCount += 1
        entries.push(Entry(deadline: deadline, order: entryCount, key: key))
    }

    mutating func remove(_ key: Key) { currentDeadlines[key] = nil }

    /// Removes and returns the due keys, the earliest first.
    mutating func takeDue(at now: Instant) -> [Key] {
        var due: [Key] = []
        while let key = takeFirstDue(at: now) { due.append(key) }
        return due
    }

    private mutating func takeFirstDue(at now: Instant) -> Key? {
        while let first = entries.first {
            let isStale = currentDeadlines[first.key] != first.deadline
            guard isStale || first.deadline <= now else { return nil }
            _ = entries.pop()
            if isStale { continue }
            currentDeadlines[first.key] = nil
            return first.key
        }
        return nil
    }
}
