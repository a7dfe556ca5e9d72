internal import Kafka
internal import Lifecycle
internal import Telemetry
internal import Topics

/// The one transactional producer of a loop, and what its failures ask for. Pinned to the loop's thread.
final class StageTransaction {
    enum Outcome: Equatable {
        case committed
        /// Nothing of it happened, or it is not known: read the batch again from the committed offsets.
        case startOver
    }

    private let make: () throws -> TransactionalProducer
    private let topicNames: [String]
    private let log: Log
    private var producer: TransactionalProducer?
    private var topics: [Topic] = []
    private var history = FencingHistory()

    /// - Parameter make: a producer with the loop's id.
    init(topics: [String], log: Log, make: @escaping () throws -> TransactionalProducer) {
        self.make = make
        self.log = log
        topicNames = topics
    }

    /// Whether there is a producer that can begin; otherwise `prepare`.
    var isReady: Bool { producer != nil }

    /// Makes a producer and fences whoever had its id before. False when the cluster does not answer yet.
    func prepare(withinMilliseconds limit: Int) throws -> Bool {
        if producer != nil { return true }
        let fresh = try make()
        do {
            topics = try topicNames.map { name throws(KafkaError) in try fresh.topic(name) }
            try fresh.initialise(withinMilliseconds: limit)
            try fresh.warmUp(topics)
        } catch let failure as TransactionFailure {
            try judge(failure)
            return false
        } catch let error as KafkaError {
            if error.code.isAccessRefused { throw error }
            return false
        }
        producer = fresh
        return true
    }

    /// Runs one transaction. `send` queues its records through the closure it is given, which is false
    /// when a record was not taken.
    ///
    /// - Parameter group: captured before, for this work.
    func run(
        _ offsets: [OffsetToCommit], _ group: GroupMetadata, onStep: (IngestStep) -> Void,
        send: (TransactionalProducer, [Topic]) -> Bool
    ) throws -> Outcome {
        guard let producer else { return .startOver }
        do throws(TransactionFailure) {
            try producer.begin()
            onStep(.transactionBegun)
            guard send(producer, topics) else {
                log.warning("records of a transaction were not taken; the batch is read again")
                try producer.abort()
                return .startOver
            }
            try producer.sendOffsets(offsets, group)
            onStep(.offsetsSent)
            try producer.commit()
            return .committed
        } catch {
            try recover(error, producer)
            return .startOver
        }
    }

    private func recover(_ failure: TransactionFailure, _ producer: TransactionalProducer) throws {
        log.warning("a transaction was not committed; its batch is read again", .field("error", failure))
        switch failure.advice {
        case .abortAndRepeat, .abortAndDrop, .callAgain:
            do {
                try producer.abort()
            } catch {
                try judge(error)
            }
        case .rebuild, .rebuildFenced: try judge(failure)
        }
    }

    /// The producer is of no use any more. Fenced twice in a short time, another process has our id.
    private func judge(_ failure: TransactionFailure) throws {
        producer = nil
        topics = []
        guard failure.advice == .rebuildFenced, history.fenced(at: .now()) == .stop else { return }
        throw IngestFailure.fenced(
            "\(failure); another process uses this identity: give each process a data directory of its own")
    }

    /// When idle: errors and statistics.
    func serve() { producer?.serve() }
}
