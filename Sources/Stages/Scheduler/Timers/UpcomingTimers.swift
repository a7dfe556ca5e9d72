internal import Containers
package import StageSupport

/// The next entries of a partition, in memory. The other entries are on disk in due order and are read page
/// by page. So a million timers need as much memory as a few thousand.
///
/// An entry is only a reminder. The row alone decides whether a timer waits, so an extra entry does no harm.
package struct UpcomingTimers {
    /// Entries per page.
    package static let pageRows = 2000
    /// The most entries in memory. Beyond it the later half stays only on disk.
    package static let countMax = 20_000

    /// The last entry of the pages that were read. All entries up to it are in memory. Nil before the first
    /// page.
    private var lastRead: DueEntry?
    /// Whether the disk has no entries after `last`.
    private var hasReadLastPage = false
    private var queue = MinHeap<DueEntry>()
    /// Entries that were committed and may not be on disk yet, at any due time.
    private var unwritten: [HashedKey: Int64] = [:]

    package init() {}

    package var count: Int { queue.count + unwritten.count }

    /// Whether the next entry is unknown until a page is read.
    package var needsPage: Bool { queue.isEmpty && !hasReadLastPage }

    /// The next entry. Nil if no entry waits or a page is needed.
    package var first: DueEntry? { queue.first }

    /// Takes the next entry and its copies. A page can repeat a fresh entry.
    package mutating func takeFirst() -> DueEntry? {
        guard let entry = queue.pop() else { return nil }
        while queue.first == entry { _ = queue.pop() }
        return entry
    }

    /// Adds the entry of a committed row.
    package mutating func add(_ entry: DueEntry) {
        unwritten[entry.key] = entry.dueAt
        if hasReadLastPage || lastRead.map({ entry <= $0 }) == true { push(entry) }
    }

    /// Removes the fresh entry of a row that a commit deleted.
    package mutating func remove(_ key: HashedKey) { unwritten[key] = nil }

    private mutating func push(_ entry: DueEntry) {
        queue.push(entry)
        guard queue.count > Self.countMax else { return }
        lastRead = queue.keepSmallest(Self.countMax / 2)
        hasReadLastPage = false
    }

    /// The entry on disk after which the next page begins.
    package var nextPageStart: DueEntry? { lastRead }

    /// Adds the next page from disk.
    ///
    /// - Parameter isLast: Whether the disk has no entries after this page.
    package mutating func add(page: [DueEntry], isLast: Bool) {
        let before = lastRead
        lastRead = page.last ?? lastRead
        hasReadLastPage = isLast
        for entry in page { queue.push(entry) }
        for (key, at) in unwritten {
            let entry = DueEntry(dueAt: at, key: key)
            if before.map({ entry <= $0 }) == true { continue }
            if isLast || lastRead.map({ entry <= $0 }) == true { queue.push(entry) }
        }
    }

    /// Forgets the fresh entries that are on disk.
    ///
    /// - Parameter isUnread: Whether a row is not on disk yet.
    package mutating func retainUnwritten(where isUnread: (HashedKey) -> Bool) {
        unwritten = unwritten.filter { isUnread($0.key) }
    }

    /// The number of fresh entries. Call `settle` if it is much larger than the number of unread rows.
    package var unwrittenCount: Int { unwritten.count }
}
