internal import APNs

/// A ring buffer of the newest entries of the journal. They are numbered from 1, in the order in which their
/// outcomes became known. Readers ask for the entries after a number, page by page.
struct JournalRing: Sendable {
    struct NumberedEntry: Sendable {
        let number: Int
        let entry: JournalEntry
    }

    /// A reader's filter. A nil field matches all entries.
    struct Filter: Sendable {
        var tokens = TokenSet()
        var channel: String?
        var id: PushID?
        var connection: Int?
        var status: Int?
    }

    /// The entries that one request of a reader gets.
    struct Page: Sendable {
        var entries: [NumberedEntry] = []
        /// Number up to which the reader has seen all matching entries: its next `after`.
        var after: Int
        /// Number of the newest entry.
        var newest: Int
        /// Number of entries after the reader's `after` that were dropped before this page.
        var missed: Int
    }

    /// Limit on the entries that are compared with a filter for one page, because the comparison blocks the
    /// loop. A page that stops at this limit may be empty although more entries match.
    static let scannedMax = 10_000

    private let entriesMax: Int
    private let bytesMax: Int
    /// The entry with the number n is at (n - 1) modulo `entriesMax`. The slot of a dropped entry is nil.
    private var slots: [JournalEntry?] = []
    /// Approximate size of the entries in memory.
    private var memoryBytes = 0
    /// Number of the oldest entry in memory.
    private(set) var oldest = 1
    /// Number of the newest entry, 0 before the first.
    private(set) var newest = 0

    init(entriesMax: Int, bytesMax: Int) {
        self.entriesMax = max(1, entriesMax)
        self.bytesMax = bytesMax
    }

    /// Number of entries in memory.
    var count: Int { newest - oldest + 1 }

    /// Appends an entry and returns its number.
    mutating func append(_ entry: consuming JournalEntry) -> Int {
        newest += 1
        if count > entriesMax { dropOldest() }
        let slot = slotIndex(ofEntry: newest)
        memoryBytes += entry.memoryBytes
        if slot == slots.count { slots.append(entry) } else { slots[slot] = entry }
        while memoryBytes > bytesMax, count > 1 { dropOldest() }
        return newest
    }

    /// Drops all entries. Numbering continues.
    mutating func removeAll() { while count > 0 { dropOldest() } }

    private mutating func dropOldest() {
        let slot = slotIndex(ofEntry: oldest)
        memoryBytes -= slots[slot]?.memoryBytes ?? 0
        slots[slot] = nil
        oldest += 1
    }

    private func slotIndex(ofEntry number: Int) -> Int { (number - 1) % entriesMax }

    /// Returns the matching entries after the number `after`, at most `limit`.
    func page(after: Int, matching filter: Filter, limit: Int) -> Page {
        let after = min(max(0, after), newest)
        let first = max(after + 1, oldest)
        var page = Page(after: first - 1, newest: newest, missed: first - after - 1)
        while page.after < newest, page.entries.count < limit {
            let scannedCount = page.after - first + 1
            guard scannedCount < Self.scannedMax else { break }
            page.after += 1
            let entry = slots[slotIndex(ofEntry: page.after)]
            if let entry, filter.matches(entry) {
                page.entries.append(NumberedEntry(number: page.after, entry: entry))
            }
        }
        return page
    }
}

extension JournalRing.Filter {
    func matches(_ entry: JournalEntry) -> Bool {
        if let id, id != entry.id { return false }
        if let connection, connection != entry.facts.connection { return false }
        if let channel, entry.facts.target != .channel(channel) { return false }
        if let status {
            guard case .answered(status, _, _) = entry.outcome else { return false }
        }
        if tokens.isEmpty { return true }
        guard case .token(let token) = entry.facts.target else { return false }
        return tokens.contains(token)
    }
}
