internal import Telemetry

/// Where a transaction stands. From a prepared state there is one way only: to its completion.
enum TransactionState: Int8 {
    case empty = 0
    case ongoing = 1
    case prepareCommit = 2
    case prepareAbort = 3
    case completeCommit = 4
    case completeAbort = 5

    var isPrepared: Bool { self == .prepareCommit || self == .prepareAbort }
}

/// Everything the log knows of one transactional id; a change is a new value of it.
struct TransactionFacts: Equatable {
    static let noEpoch: Int16 = -1
    /// One below the largest: fencing needs a last step up.
    private static let lastEpochGiven = Int16.max - 1

    var producerID: Int64
    var epoch = TransactionFacts.noEpoch
    /// What the producer had before, so that its repeated request for a new epoch finds the answer.
    var lastProducerID: Int64 = -1
    var lastEpoch = TransactionFacts.noEpoch
    var timeoutMilliseconds: Int32
    var state = TransactionState.empty
    var partitions: Set<TopicPartition> = []
    var groups: Set<String> = []
    var startedAt: WallTime?
    var updatedAt: WallTime

    static func isExhausted(_ epoch: Int16) -> Bool { epoch >= lastEpochGiven }
}
