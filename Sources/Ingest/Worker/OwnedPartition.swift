internal import Kafka
internal import Lifecycle

/// One partition of `reports` that is ours.
struct OwnedPartition {
    enum Condition: Equatable {
        /// The view is read up to the end of `installations`. Its reports wait.
        case restoring
        /// Reports flow.
        case serving
        /// The reports that come next are gone; a person decides where to go on.
        case outOfRange(String)
    }

    let number: Int32
    var condition: Condition
    /// Since the partition was assigned, or its view began again.
    var restoringSince: Instant
    /// The newest offset that was committed: where reports are read on. Nil: from the beginning.
    var committed: Int64?
    /// The offsets behind gaps that were found in a batch that is not committed yet. Those that reading
    /// again does not close are the topic's own: who writes reports in transactions leaves them.
    var knownGaps: Set<Int64> = []

    init(_ number: Int32, at now: Instant) {
        self.number = number
        condition = .restoring
        restoringSince = now
    }

    /// Everything below the offset is committed.
    mutating func reached(_ offset: Int64) {
        committed = offset
        if !knownGaps.isEmpty { knownGaps = knownGaps.filter { $0 >= offset } }
    }

    /// Why its reports wait, for a person; nil when they flow.
    var obstacle: String? {
        switch condition {
        case .serving: nil
        case .restoring: "partition \(number) is being restored"
        case .outOfRange(let text): "partition \(number) stopped: \(text)"
        }
    }

    var isServing: Bool { condition == .serving }

    /// Its next report is there.
    var isReadable: Bool {
        if case .outOfRange = condition { false } else { true }
    }

    func isStuck(_ isBlocked: Bool) -> Bool { isBlocked || !isReadable }
}
