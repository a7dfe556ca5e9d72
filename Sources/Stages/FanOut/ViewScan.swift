internal import Lifecycle
internal import Store

/// The position of a loop's walk through all rows of its views, one page at a time.
package struct ViewScan {
    /// The reason of a pass through a partition.
    enum Pass: Int, Comparable {
        /// The partition was assigned. The pass finds held sends, and repeats notes that the previous planner may not
        /// have sent. Its pages follow one another at once.
        case first
        /// Notes were lost. The pass repeats them.
        case notes
        /// The regular pass, which finds rows that can be forgotten, and activities that must end.
        case regular

        static func < (a: Pass, b: Pass) -> Bool { a.rawValue < b.rawValue }
    }

    /// The number of rows in one page.
    package static let rowsMax = 2000

    /// The partition that is being walked, and the reason.
    private(set) var current: Int32?
    private(set) var pass = Pass.regular
    var range = KeyRange.everything
    /// The partitions that wait for each kind of pass. A pass of an earlier kind goes first.
    private var waitingPartitions: [Pass: [Int32]] = [:]
    private var nextRegularPass: Instant?
    /// The time of the next page, except in a first pass.
    private var nextPage: Instant?

    /// - Parameter time: the time of the first regular pass. Nil puts it one interval after the first call of
    ///   `nextPartition`.
    init(firstRegularPassAt time: Instant? = nil) { nextRegularPass = time }

    /// Whether a pass is in progress.
    var isInProgress: Bool { current != nil || waitingPartitions.values.contains { !$0.isEmpty } }

    /// Whether a page must be read in each iteration, because held sends may wait there.
    var isUrgent: Bool { isWaiting(.first) || (current != nil && pass == .first) }

    private func isWaiting(_ pass: Pass) -> Bool { waitingPartitions[pass]?.isEmpty == false }

    /// Adds a partition whose rows can be read now.
    mutating func add(_ partition: Int32, for pass: Pass) {
        let isKnown =
            waitingPartitions[pass]?.contains(partition) == true
            || (current == partition && self.pass == pass)
        if !isKnown { waitingPartitions[pass, default: []].append(partition) }
    }

    /// Returns the partition to read now. Nil if no page is due.
    mutating func nextPartition(of owned: some Collection<Int32>, at now: Instant, intervalMilliseconds: Int)
        -> Int32?
    {
        if let partition = current, !owned.contains(partition) { current = nil }
        waitingPartitions = waitingPartitions.mapValues { $0.filter { owned.contains($0) } }
        if nextRegularPass == nil { nextRegularPass = now.advanced(byMilliseconds: intervalMilliseconds) }
        if !isWaiting(.regular), current == nil || pass != .regular, let due = nextRegularPass, now >= due {
            for partition in owned.sorted() { add(partition, for: .regular) }
            nextRegularPass = now.advanced(byMilliseconds: intervalMilliseconds)
        }
        beginMostUrgentPass()
        guard let current else { return nil }
        if pass != .first, let nextPage, now < nextPage { return nil }
        return current
    }

    /// Begins the next pass, unless the current one is at least as urgent. A pass that is interrupted begins again.
    private mutating func beginMostUrgentPass() {
        guard let next = [Pass.first, .notes, .regular].first(where: { isWaiting($0) }),
            current == nil || next < pass
        else { return }
        if let interrupted = current { waitingPartitions[pass, default: []].insert(interrupted, at: 0) }
        (current, pass, range) = (waitingPartitions[next]?.removeFirst(), next, .everything)
    }

    /// Returns the time of the next page of the current pass. Nil if none is planned.
    func nextPage(after now: Instant) -> Instant? {
        guard current != nil, let nextPage, nextPage > now else { return nil }
        return nextPage
    }

    /// Notes that a page was read.
    ///
    /// - Parameter rest: the range of the rows that follow. Nil at the end of the partition.
    mutating func finishPage(continuingIn rest: KeyRange?, notBefore time: Instant) {
        nextPage = time
        if let rest { range = rest } else { current = nil }
    }
}

/// The pause after a page of a pass, so that a pass takes only a share of the loop's time.
enum ScanPause {
    /// The pause after a page of the regular pass without an expired row.
    static let idleMilliseconds = 1000
    /// The least pause after a page that repeats notes.
    private static let notesMilliseconds = 100
    /// If at least one row in this many is expired, the idle pause is left out. If the planner deletes fewer rows than
    /// sends create, the table grows, and the share of expired rows grows with it.
    private static let rowsPerExpiredRow = 16
    /// The pause as a multiple of the time that the page took.
    private static let durationMultiple = 3

    static func milliseconds(
        in pass: ViewScan.Pass, expiredRows: Int, rows: Int, pageMilliseconds: Int
    ) -> Int {
        let least: Int
        switch pass {
        case .first: return 0
        case .notes: least = notesMilliseconds
        case .regular:
            let quietRows = max(0, rows - rowsPerExpiredRow * expiredRows)
            least = rows == 0 ? idleMilliseconds : idleMilliseconds * quietRows / rows
        }
        return max(least, durationMultiple * pageMilliseconds)
    }
}
