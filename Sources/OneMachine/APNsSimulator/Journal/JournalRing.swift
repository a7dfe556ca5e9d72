internal import APNs
internal import LiveActivity

/// The newest entries, numbered from 1 in the order in which their ends were known.
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

    struct Page: Sendable {
        var entries: [NumberedEntry] = []
        /// Number up to which the reader has seen all matching entries: its next `after`.
        var after: Int
        /// Number of the newest entry.
        var newest: Int
        /// Number of entries after the reader's `after` that were dropped before this page.
        var missed: Int
    }

    /// Entries checked for one page. A page that stops at this limit may be empty although more entries
    /// exist.
    static let scannedMax = 10_000

    private let entriesMax: Int
    private let bytesMax: Int
    /// The entries. An entry's position is the remainder of its number.
    private var slots: [JournalEntry] = []
    private var bytes = 0
    /// Number of the oldest entry in memory.
    private(set) var oldest = 1
    private(set) var newest = 0

    init(entriesMax: Int, bytesMax: Int) {
        self.entriesMax = max(1, entriesMax)
        self.bytesMax = bytesMax
    }

    var count: Int { newest - oldest + 1 }

    /// Appends an entry and returns its number.
    mutating func append(_ entry: consuming JournalEntry) -> Int {
        newest += 1
        if count > entriesMax { dropOldest() }
        let slot = (newest - 1) % entriesMax
        bytes += entry.memoryBytes
        if slot == slots.count { slots.append(entry) } else { slots[slot] = entry }
        while bytes > bytesMax, count > 1 { dropOldest() }
        return newest
    }

    mutating func removeAll() { while count > 0 { dropOldest() } }

    private mutating func dropOldest() {
        bytes -= slots[(oldest - 1) % entriesMax].memoryBytes
        oldest += 1
    }

    func page(after: Int, matching filter: Filter, limit: Int) -> Page {
        let after = min(max(0, after), newest)
        let first = max(after + 1, oldest)
        var page = Page(after: first - 1, newest: newest, missed: first - after - 1)
        while page.after < newest, page.entries.count < limit, page.after - first + 1 < Self.scannedMax {
            page.after += 1
            let entry = slots[(page.after - 1) % entriesMax]
            if filter.matches(entry) { page.entries.append(NumberedEntry(number: page.after, entry: entry)) }
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
