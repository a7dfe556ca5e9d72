/// A heap of wake-up times, earliest first. Entries are never removed early, so the caller must compare each
/// entry with the current state.
struct WakeHeap {
    struct Entry {
        let time: Int64
        let index: Int32
    }

    private var heap: [Entry] = []

    var count: Int { heap.count }
    var earliest: Int64? { heap.first?.time }

    mutating func insert(_ entry: Entry) {
        var child = heap.count
        heap.append(entry)
        while child > 0 {
            let parent = (child - 1) / 2
            guard entry.time < heap[parent].time else { break }
            heap[child] = heap[parent]
            child = parent
        }
        heap[child] = entry
    }

    /// Removes and returns the earliest entry if it is due.
    mutating func take(dueAt time: Int64) -> Entry? {
        guard let first = heap.first, first.time <= time else { return nil }
        let last = heap.removeLast()
        guard !heap.isEmpty else { return first }
        var parent = 0
        while true {
            var child = 2 * parent + 1
            guard child < heap.count else { break }
            if child + 1 < heap.count, heap[child + 1].time < heap[child].time { child += 1 }
            guard heap[child].time < last.time else { break }
            heap[parent] = heap[child]
            parent = child
        }
        heap[parent] = last
        return first
    }
}
