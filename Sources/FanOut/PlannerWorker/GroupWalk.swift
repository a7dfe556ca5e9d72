internal import Lifecycle
internal import Store

/// Where the planner is in walking through all rows of its partitions, a page at a time: to forget what nobody
/// needs any more, again and again; and once after a partition was assigned, to find what waits there, and to
/// tell senders of it what its last planner may not have told them.
package struct GroupWalk {
    /// Rows looked at in one page.
    package static let rowsMax = 2000
    /// Between two pages of a pass that nobody waits for.
    static let pageMilliseconds = 1000

    /// The partition that it is in, and whether it was assigned lately.
    private(set) var current: Int32?
    private(set) var isFirst = false
    var range = KeyRange.everything
    /// Those that were assigned lately; they come first.
    private var fresh: [Int32] = []
    /// Those that an interval's pass has still to look at.
    private var rest: [Int32] = []
    private var nextPass: Instant?
    private var nextPage: Instant?

    /// A page every turn: something may wait there.
    var isUrgent: Bool { !fresh.isEmpty || (current != nil && isFirst) }

    /// The partition's rows can be looked at now.
    mutating func begin(_ partition: Int32) {
        if !fresh.contains(partition), !(current == partition && isFirst) { fresh.append(partition) }
    }

    /// The partition to look at now; nil when nothing is due.
    mutating func next(of owned: some Collection<Int32>, at now: Instant, intervalMilliseconds: Int) -> Int32?
    {
        if let partition = current, !owned.contains(partition) { current = nil }
        fresh.removeAll { !owned.contains($0) }
        // What was assigned lately does not wait for a pass that can.
        if let partition = fresh.first, current == nil || !isFirst {
            if let waiting = current { rest.append(waiting) }
            fresh.removeFirst()
            (current, isFirst, range) = (partition, true, .everything)
        }
        if current == nil {
            if nextPass == nil { nextPass = now.advanced(byMilliseconds: intervalMilliseconds) }
            if rest.isEmpty, let due = nextPass, now >= due {
                rest = owned.sorted(by: >)
                nextPass = now.advanced(byMilliseconds: intervalMilliseconds)
            }
            while current == nil, let partition = rest.popLast() {
                if owned.contains(partition) { (current, isFirst, range) = (partition, false, .everything) }
            }
        }
        guard let current else { return nil }
        if !isFirst {
            if let nextPage, now < nextPage { return nil }
            nextPage = now.advanced(byMilliseconds: Self.pageMilliseconds)
        }
        return current
    }

    /// The partition has no more.
    mutating func finish() { current = nil }
}
