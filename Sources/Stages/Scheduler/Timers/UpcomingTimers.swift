internal import Containers
package import StageSupport

/// The next due entries of a partition, in memory. The other entries are in the view's file, in due order, and are read
/// page by page. So a million timers need as much memory as a few thousand.
///
/// Entries come from two sources: pages of the file, and commits whose rows may not be in the file yet ("unwritten").
/// An entry is only a reminder. The row alone decides whether a timer waits, so an extra entry does no harm.
package struct UpcomingTimers {
    /// The number of entries in a page.
    package static let pageRows = 2000
    /// The most entries in `queue`. Beyond it the later half is dropped, and is read from the file again.
    package static let countMax = 20_000

    /// The last entry of the pages that were read. All entries up to it are in `queue`. Nil before the first page.
    private var lastRead: DueEntry?
    /// Whether the file has no entries after `lastRead`.
    private var hasReadLastPage = false
    private var queue = MinHeap<DueEntry>()
    /// The due times of entries that were committed and may not be in the file yet, by the keys of their rows.
    private var unwritten: [HashedKey: Int64] = [:]

    package init() {}

    /// The number of entries in memory. An unwritten entry may count twice.
    package var count: Int { queue.count + unwritten.count }

    /// Whether the next entry is unknown until a page is read.
    package var needsPage: Bool { queue.isEmpty && !hasReadLastPage }

    /// The next entry. Nil if no entry waits, or if a page is needed.
    package var first: DueEntry? { queue.first }

    /// Removes the next entry and its copies. A page can repeat an unwritten entry.
    package mutating func takeFirst() -> DueEntry? {
        guard let entry = queue.pop() else { return nil }
        while queue.first == entry { _ = queue.pop() }
        return entry
    }

    /// Adds the entry of a committed row.
    package mutating func add(_ entry: DueEntry) {
        unwritten[entry.key] = entry.dueAt
        if hasReadLastPage || isWithinPages(entry) { push(entry) }
    }

    /// Removes the unwritten entry of a row that a commit deleted. A copy in the queue does no harm.
    package mutating func remove(_ key: HashedKey) { unwritten[key] = nil }

    private func isWithinPages(_ entry: DueEntry) -> Bool { lastRead.map { entry <= $0 } == true }

    /// Adds an entry to the queue, and keeps the limit.
    private mutating func push(_ entry: DueEntry) {
        queue.push(entry)
        guard queue.count > Self.countMax else { return }
        lastRead = queue.keepSmallest(Self.countMax / 2)
        hasReadLastPage = false
    }

    /// The entry after which the next page begins. Nil for the first page.
    package var nextPageStart: DueEntry? { lastRead }

    /// Adds the next page from the file, and the unwritten entries that lie within it.
    ///
    /// - Parameter isLast: whether the file has no entries after this page.
    package mutating func add(page: [DueEntry], isLast: Bool) {
        let previousLastRead = lastRead
        lastRead = page.last ?? lastRead
        hasReadLastPage = isLast
        for entry in page { queue.push(entry) }
        for (key, dueAt) in unwritten {
            let entry = DueEntry(dueAt: dueAt, key: key)
            let wasWithinEarlierPages = previousLastRead.map { entry <= $0 } == true
            if wasWithinEarlierPages { continue }
            if isLast || isWithinPages(entry) { queue.push(entry) }
        }
    }

    /// Forgets the unwritten entries that are in the file now.
    ///
    /// - Parameter isUnwritten: whether the row of a key is not in the file yet.
    package mutating func retainUnwritten(where isUnwritten: (HashedKey) -> Bool) {
        unwritten = unwritten.filter { isUnwritten($0.key) }
    }

    /// The number of unwritten entries. `retainUnwritten` reduces it.
    package var unwrittenCount: Int { unwritten.count }
}
