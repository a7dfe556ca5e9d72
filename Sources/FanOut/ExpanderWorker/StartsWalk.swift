internal import JSON
internal import Lifecycle
internal import LiveActivity
internal import Stages
internal import Store

/// Where the expander is in walking through all rows of `starts`, a page at a time: for activities that are to
/// be ended before the system does it, and rows that the topic has let go.
struct StartsWalk {
    /// Rows looked at in one page.
    static let rowsMax = 2000
    /// Between two pages.
    static let pageMilliseconds = 20
    /// Between the beginnings of two passes: how late a safety end can come.
    static let passMilliseconds = 60_000
    /// What the topic keeps, and a margin for clocks that differ.
    private static let keptMilliseconds: Int64 = (48 + 1) * 3_600_000

    /// What is to be done about a row; nil for nearly all.
    enum Finding: Equatable {
        case due(LedgerKey)
        case outlived
    }

    private(set) var lane: Int32?
    var range = KeyRange.everything
    private var rest: [Int32] = []
    private var nextPass = Instant.now()
    private var nextPage = Instant.now()

    /// A pass is not through.
    var isUnderWay: Bool { lane != nil || !rest.isEmpty }

    /// The lane to look at now; nil when nothing is due.
    mutating func next(of lanes: some Collection<Int32>, at now: Instant) -> Int32? {
        if now < nextPage { return nil }
        nextPage = now.advanced(byMilliseconds: Self.pageMilliseconds)
        if let lane, !lanes.contains(lane) { self.lane = nil }
        if lane == nil, rest.isEmpty, now >= nextPass {
            rest = lanes.sorted(by: >)
            nextPass = now.advanced(byMilliseconds: Self.passMilliseconds)
        }
        while lane == nil, let partition = rest.popLast() {
            if lanes.contains(partition) { (lane, range) = (partition, .everything) }
        }
        return lane
    }

    /// The lane has no more.
    mutating func finish() { lane = nil }

    /// Of millions of rows nothing is due: they are told by their time alone, and only the others are decoded.
    static func look(
        _ key: Span<UInt8>, _ value: Span<UInt8>, at now: Int64, with reader: JSONReader
    ) -> Finding? {
        let at: Int64?
        if NewestStart.isKey(key) {
            at = NewestStart.time(of: value)
        } else if isLedgerKey(key) {
            at = RowTime.first(in: value)
            if let at, now - at > keptMilliseconds { return .outlived }
            guard let at, SafetyEnd.isPast(at, at: now) else { return nil }
            let row = try? unsafe value.withUnsafeBytes { bytes throws(RecordError) in
                try unsafe LedgerRow.decode(bytes, with: reader)
            }
            guard let row, SafetyEnd.isDue(row, at: now) else { return nil }
            return LedgerKey(bytes: [UInt8](copying: key)).map { .due($0) }
        } else {
            at = RowTime.last(in: value)
        }
        guard let at, now - at > keptMilliseconds else { return nil }
        return .outlived
    }

    /// Nearly all are starts of groups, and of millions of them nothing is due: those are known by their slashes.
    private static func isLedgerKey(_ key: Span<UInt8>) -> Bool {
        LedgerKeyParts(key) != nil || LedgerKey(bytes: [UInt8](copying: key)) != nil
    }
}
