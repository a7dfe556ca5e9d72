internal import Lifecycle

/// One partition of `sends` and `sends.timed` that is ours.
struct PlannedPartition {
    enum Condition: Equatable {
        /// The view is read up to the end of `groups`. Its sends wait.
        case restoring
        /// Sends flow.
        case serving
        /// The sends that come next are gone; a person decides where to go on.
        case outOfRange(String)
    }

    let number: Int32
    var condition = Condition.restoring
    /// Since the partition was assigned, or its view began again.
    var restoringSince: Instant
    /// How far each topic is committed.
    var positions: [PlannedTopic: ReadPosition] = [:]
    /// Held sends are known, and senders were told, since it was assigned.
    var isWalked = false

    init(_ number: Int32, at now: Instant) {
        self.number = number
        restoringSince = now
    }

    /// Why its sends wait, for a person; nil when they flow.
    var obstacle: String? {
        switch condition {
        case .serving: nil
        case .restoring: "partition \(number) of sends is being restored"
        case .outOfRange(let text): "partition \(number) of sends stopped: \(text)"
        }
    }

    var isServing: Bool { condition == .serving }

    /// Its next send is there.
    var isReadable: Bool {
        if case .outOfRange = condition { false } else { true }
    }

    func isStuck(_ isBlocked: Bool) -> Bool { isBlocked || !isReadable }
}

/// What the planner reads.
enum PlannedTopic: CaseIterable {
    case sends
    case timed
}

/// How far a partition was read, and whether anything was skipped on the way to us.
struct ReadPosition {
    /// The newest offset that was committed: where records are read on. Nil: from the beginning.
    var committed: Int64?
    /// The offsets behind gaps that were found in a batch that is not committed yet. Those that reading
    /// again does not close are the topic's own: who writes it in transactions leaves them.
    private var knownGaps: Set<Int64> = []

    init(committed: Int64?) { self.committed = committed }

    /// Everything below the offset is committed.
    mutating func reached(_ offset: Int64) {
        committed = offset
        if !knownGaps.isEmpty { knownGaps = knownGaps.filter { $0 >= offset } }
    }

    /// The newest word of the group; what is known of gaps stays.
    mutating func begin(at committed: Int64?) { self.committed = committed }

    /// Plain writers leave no gaps between offsets. Where one shows, something was skipped on the way to us, and
    /// reading again finds it; a gap that is still there then is the topic's own.
    ///
    /// All of a batch at once: known one by one, two of the topic's own would take turns for ever.
    ///
    /// - Returns: the first that was not known before.
    mutating func newGap(in offsets: some Sequence<Int64>) -> Int64? {
        var wanted = committed
        var found: Int64?
        for offset in offsets {
            if let wanted, offset != wanted, knownGaps.insert(offset).inserted { found = found ?? offset }
            wanted = offset + 1
        }
        return found
    }
}
