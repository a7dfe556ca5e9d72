internal import Lifecycle
internal import Store

/// The position of the planner's walk through all rows of its partitions, one page at a time. Regular passes
/// find rows that can be forgotten. One more pass follows each assignment of a partition. It finds held sends
/// and repeats notes that the previous planner may not have sent.
package struct GroupScan {
    /// The number of rows in one page.
    package static let rowsMax = 2000
    /// The pause between two pages of a regular pass.
    static let pageMilliseconds = 1000

    /// The partition that is being walked, and whether this is its first pass since its assignment.
    private(set) var current: Int32?
    private(set) var isFirstPass = false
    var range = KeyRange.everything
    /// The newly assigned partitions. They come first.
    private var newlyAssignedPartitions: [Int32] = []
    /// The partitions that the regular pass has not visited yet.
    private var remainingPartitions: [Int32] = []
    private var nextPass: Instant?
    private var nextPage: Instant?

    /// Whether a page must be read in each iteration, because held sends may wait there.
    var isUrgent: Bool { !newlyAssignedPartitions.isEmpty || (current != nil && isFirstPass) }

    /// Adds a partition whose rows can be read now.
    mutating func add(_ partition: Int32) {
        if !newlyAssignedPartitions.contains(partition), !(current == partition && isFirstPass) {
            newlyAssignedPartitions.append(partition)
        }
    }

    /// Returns the partition to read now. Nil if no page is due.
    mutating func nextPartition(of owned: some Collection<Int32>, at now: Instant, intervalMilliseconds: Int)
        -> Int32?
    {
        if let partition = current, !owned.contains(partition) { current = nil }
        newlyAssignedPartitions.removeAll { !owned.contains($0) }
        // A first pass goes before a regular pass.
        if let partition = newlyAssignedPartitions.first, current == nil || !isFirstPass {
            if let waiting = current { remainingPartitions.append(waiting) }
            newlyAssignedPartitions.removeFirst()
            (current, isFirstPass, range) = (partition, true, .everything)
        }
        if current == nil {
            if nextPass == nil { nextPass = now.advanced(byMilliseconds: intervalMilliseconds) }
            if remainingPartitions.isEmpty, let due = nextPass, now >= due {
                remainingPartitions = owned.sorted(by: >)
                nextPass = now.advanced(byMilliseconds: intervalMilliseconds)
            }
            while current == nil, let partition = remainingPartitions.popLast() {
                if owned.contains(partition) {
                    (current, isFirstPass, range) = (partition, false, .everything)
                }
            }
        }
        guard let current else { return nil }
        if !isFirstPass {
            if let nextPage, now < nextPage { return nil }
            nextPage = now.advanced(byMilliseconds: Self.pageMilliseconds)
        }
        return current
    }

    /// Marks the end of the current partition.
    mutating func finishPartition() { current = nil }
}
