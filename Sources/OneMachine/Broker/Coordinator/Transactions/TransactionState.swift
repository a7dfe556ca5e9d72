internal import Telemetry

/// The states of a transaction. A prepared transaction can only be completed.
enum TransactionState: Int8 {
    case empty = 0
    case ongoing = 1
    case prepareCommit = 2
    case prepareAbort = 3
    case completeCommit = 4
    case completeAbort = 5

    var isPrepared: Bool { self == .prepareCommit || self == .prepareAbort }
}

/// The durable state of one transactional id.
struct TransactionFacts: Equatable {
    static let noEpoch: Int16 = -1
    /// One below the largest epoch, because fencing needs one more step.
    private static let lastEpochGiven = Int16.max - 1

    var producerID: Int64
    var epoch = TransactionFacts.noEpoch
    /// The producer's earlier id and epoch, so that a repeated request for a new epoch gets the same
    /// answer.
    var lastProducerID: Int64 = -1
    var lastEpoch = TransactionFacts.noEpoch
    var timeoutMilliseconds: Int32
    var state = TransactionState.empty
    var partitions: Set<TopicPartition> = []
    var groups: Set<String> = []
    var startedAt: WallTime?
    var updatedAt: WallTime

    static func isExhausted(epoch: Int16) -> Bool { epoch >= lastEpochGiven }
}
