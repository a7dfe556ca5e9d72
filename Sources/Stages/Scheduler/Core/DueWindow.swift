internal import Containers
package import StageSupport

/// The next entries of a partition, in memory. The other entries are on disk in due order and are read page
/// by page. So a million timers need as much memory as a few thousand.
///
/// An entry is only a reminder. The row alone decides whether a timer waits, so an extra entry does no harm.
package struct DueWindow {
    /// Entries per page.
    package static let pageRows = 2000
    /// The most entries in memory. Beyond it the later half stays only on disk.
    package static let countMax = 20_000

    /// The last entry of the pages that were read. All entries up to it are in memory. Nil before the first
    /// page.
    private var last: DueEntry?
    /// Whether the disk has no entries after `last`.
    private var isWhole = false
    private var near = MinHeap<DueEntry>()
    /// Entries that were committed and may not be on disk yet, at any due time.
    private var fresh: [KeyBytes: Int64] = [:]

    package init() {}

    package var count: Int { near.count + fresh.count }

    /// Whether the next entry is unknown until a page is read.
    package var needsPage: Bool { near.isEmpty && !isWhole }

    /// The next entry. Nil if no entry waits or a page is needed.
    package var first: DueEntry? { near.first }

    /// Takes the next entry and its copies. A page can repeat a fresh entry.
    package mutating func takeFirst() -> DueEntry? {
        guard let entry = near.pop() else { return nil }
        while near.first == entry { _ = near.pop() }
        return entry
    }

    /// Adds the entry of a committed row.
    package mutating func add(_ entry: DueEntry) {
        fresh[entry.key] = entry.at
        if isWhole || last.map({ entry <= $0 }) == true { push(entry) }
    }

    /// Removes the fresh entry of a row that a commit deleted.
    package mutating func remove(_ key: KeyBytes) { fresh[key] = nil }

    private mutating func push(_ entry: DueEntry) {
        near.push(entry)
        guard near.count > Self.countMax else { return }
        last = near.keepSmallest(Self.countMax / 2)
        isWhole = false
    }

    /// The entry on disk after which the next page begins.
    package var pageBegin: DueEntry? { last }

    /// Adds the next page from disk.
    ///
    /// - Parameter isLast: Whether the disk has no entries after this page.
    package mutating func take(page: [DueEntry], isLast: Bool) {
        let before = last
        last = page.last ?? last
        isWhole = isLast
        for entry in page { near.push(entry) }
        for (key, at) in fresh {
            let entry = DueEntry(at: at, key: key)
            if before.map({ entry <= $0 }) == true { continue }
            if isLast || last.map({ entry <= $0 }) == true { near.push(entry) }
        }
    }

    /// Forgets the fresh entries that are on disk.
    ///
    /// - Parameter isUnread: Whether a row is not on disk yet.
    package mutating func settle(_ isUnread: (KeyBytes) -> Bool) {
        fresh = fresh.filter { isUnread($0.key) }
    }

    /// The number of fresh entries. Call `settle` if it is much larger than the number of unread rows.
    package var freshCount: Int { fresh.count }
}
