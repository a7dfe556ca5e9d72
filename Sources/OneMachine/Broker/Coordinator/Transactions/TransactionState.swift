internal import Telemetry

/// The states of a transaction, with the numbers in the log.
enum TransactionState: Int8 {
    /// The transactional id has had no transaction in this epoch.
    case empty = 0
    case ongoing = 1
    /// The decision is durable, and the markers are being written.
    case prepareCommit = 2
    case prepareAbort = 3
    /// All markers are written.
    case completeCommit = 4
    case completeAbort = 5

    /// Whether the transaction is decided. It can only be completed then.
    var isPrepared: Bool { self == .prepareCommit || self == .prepareAbort }
}

/// The durable state of one transactional id.
struct TransactionFacts: Equatable {
    static let noEpoch: Int16 = -1
    /// The largest epoch that a producer gets. Fencing needs one more.
    private static let largestEpoch = Int16.max - 1

    // The owner of the transactional id.

    var producerID: Int64
    var epoch = TransactionFacts.noEpoch
    /// The owner's id and epoch before the last change, so that a repeated request for that change gets the
    /// same answer.
    var previousProducerID: Int64 = -1
    var previousEpoch = TransactionFacts.noEpoch

    // The current or last transaction.

    var timeoutMilliseconds: Int32
    var state = TransactionState.empty
    var partitions: Set<PartitionID> = []
    var groups: Set<String> = []
    var startedAt: WallTime?
    var updatedAt: WallTime

    /// Whether a producer with this epoch must get another producer id, because no larger epoch is left.
    static func isExhausted(epoch: Int16) -> Bool { epoch >= largestEpoch }

    /// Returns the facts with an open transaction: the one that is open already, or a new one without partitions and
    /// groups.
    func opened(at time: WallTime) -> TransactionFacts {
        if state == .ongoing { return self }
        var facts = self
        facts.state = .ongoing
        facts.partitions.removeAll()
        facts.groups.removeAll()
        facts.startedAt = time
        return facts
    }
}
