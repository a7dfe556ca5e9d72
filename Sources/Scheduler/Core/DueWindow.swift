package import Stages

/// The next entries of a partition, in memory; the others are on disk, in due order, and come a page at a time.
/// So a million timers take as much memory as a few thousand.
///
/// Entries only remind: whether a timer waits is said by its row alone, so that one too many does no harm.
package struct DueWindow {
    /// Entries of one page.
    package static let pageRows = 2000
    /// Entries in memory; beyond it the later half is left to the disk.
    package static let countMax = 20_000

    /// Every entry up to here is in memory; nil: none is.
    private var last: DueEntry?
    /// The disk has no more behind it.
    private var isWhole = false
    private var near = MinHeap<DueEntry>()
    /// Of what was committed and may not be on disk yet; wherever it lies.
    private var fresh: [KeyBytes: Int64] = [:]

    package init() {}

    package var count: Int { near.count + fresh.count }

    /// It cannot say what is next before it gets a page.
    package var needsPage: Bool { near.isEmpty && !isWhole }

    /// The next entry; nil when there is none, or a page is needed.
    package var first: DueEntry? { near.first }

    /// Takes the next entry, as often as it is there: a page can bring what was fresh.
    package mutating func takeFirst() -> DueEntry? {
        guard let entry = near.pop() else { return nil }
        while near.first == entry { _ = near.pop() }
        return entry
    }

    /// A row was committed.
    package mutating func add(_ entry: DueEntry) {
        fresh[entry.key] = entry.at
        if isWhole || last.map({ entry <= $0 }) == true { push(entry) }
    }

    /// A row was committed away.
    package mutating func remove(_ key: KeyBytes) { fresh[key] = nil }

    private mutating func push(_ entry: DueEntry) {
        near.push(entry)
        guard near.count > Self.countMax else { return }
        last = near.keepSmallest(Self.countMax / 2)
        isWhole = false
    }

    /// Where the next page begins: behind this entry's place on disk.
    package var pageBegin: DueEntry? { last }

    /// What the disk has next.
    ///
    /// - Parameter isLast: there is no more behind it.
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

    /// Forgets of what is fresh that which the disk has by now.
    ///
    /// - Parameter isUnread: whether a row is not on disk yet.
    package mutating func settle(_ isUnread: (KeyBytes) -> Bool) {
        fresh = fresh.filter { isUnread($0.key) }
    }

    /// How many are fresh; it is worth a `settle` when they are many more than what is unread.
    package var freshCount: Int { fresh.count }
}
