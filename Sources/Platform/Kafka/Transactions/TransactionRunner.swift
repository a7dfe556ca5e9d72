internal import Lifecycle
package import Telemetry

/// A runner of a stage's transactions. It owns the one transactional producer of a loop, and replaces the
/// producer after a failure that requires a new one. It is pinned to the loop's thread.
package final class TransactionRunner {
    package enum TransactionOutcome: Sendable, Equatable {
        case committed
        /// The transaction was aborted, or its outcome is unknown. Read the batch again from the
        /// committed offsets.
        case startOver
    }

    /// The steps of a transaction between which a process can die. Tests kill it there.
    package enum TransactionStep: Sendable { case begun, offsetsSent }

    /// The longest wait of a starting process for a cluster that has just been started too.
    package static let startMillisecondsMax = 30_000
    /// The pause between two attempts of `prepare`.
    private static let pauseMicroseconds: UInt32 = 50_000
    /// The longest time for other work while the cluster stores the records. Storing usually takes much less.
    private static let otherWorkMilliseconds = 1000

    private let makeProducer: () throws -> TransactionalProducer
    private let topicNames: [String]
    private let log: Log
    // The producer and its topics, if there is one, and whether it can begin a transaction.
    private var producer: TransactionalProducer?
    private var topics: [Topic] = []
    private var isInitialized = false

    /// - Parameter makeProducer: makes a producer with the loop's transactional id.
    package init(topics: [String], log: Log, makeProducer: @escaping () throws -> TransactionalProducer) {
        self.makeProducer = makeProducer
        self.log = log
        topicNames = topics
    }

    /// Whether a producer can begin a transaction. If not, call `prepare`.
    package var isReady: Bool { isInitialized }

    /// Makes a producer and fences any earlier producer with the same id. Retries transient failures within
    /// the limit.
    ///
    /// - Returns: Nil if the producer is ready, or the text of the failure that remains.
    /// - Throws: An error that only a person can remove.
    package func prepare(withinMilliseconds limit: Int) throws -> String? {
        if isInitialized { return nil }
        let deadline = Deadline(milliseconds: limit)
        while true {
            let remainingFailure: String
            do {
                let producer = try producer ?? makeNewProducer()
                try producer.initialize(withinMilliseconds: deadline.millisecondsLeft)
                isInitialized = true
                connectToLeaders(of: producer, until: deadline)
                return nil
            } catch let failure as TransactionFailure {
                if failure.code.isAccessRefused {
                    throw KafkaError(
                        action: failure.operation.rawValue, code: failure.code, text: failure.text)
                }
                if failure.code.isFencing { producer?.countFence() }
                // A call that timed out is repeated with the same producer, and continues where it was.
                if failure.advice != .retryCall { dropProducer() }
                remainingFailure = failure.description
                let isPermanent = failure.code.retryability == .never && !failure.code.isFencing
                if isPermanent { return remainingFailure }
            } catch let error as KafkaError where error.code.retryability != .never {
                remainingFailure = error.description
            }
            if deadline.millisecondsLeft == 0 { return remainingFailure }
            pause(microseconds: Self.pauseMicroseconds)
        }
    }

    private func makeNewProducer() throws -> TransactionalProducer {
        let newProducer = try makeProducer()
        topics = try topicNames.map { name throws(KafkaError) in try newProducer.topic(named: name) }
        producer = newProducer
        return newProducer
    }

    /// Connects to all leaders, so that the first transaction is as fast as the others. A missing leader
    /// must not delay the other partitions. So the producer finds the remaining leaders later.
    private func connectToLeaders(of producer: TransactionalProducer, until deadline: Deadline) {
        do {
            try producer.connectToLeaders(of: topics, withinMilliseconds: deadline.millisecondsLeft)
        } catch {
            log.warning(
                "some partitions cannot be reached yet; the stage begins without them",
                .field("error", error))
        }
    }

    /// Runs one transaction: sends records, then commits the offsets of the batch from which they were made.
    ///
    /// - Parameters:
    ///   - group: the group metadata, captured before this work.
    ///   - meanwhile: does a piece of other work. It is repeated until the cluster has the records. It
    ///     returns false if no work is left.
    ///   - send: queues the records through the producer that it receives. It returns false if the producer
    ///     refused a record.
    package func run(
        committing offsets: [OffsetToCommit], for group: GroupMetadata, onStep: (TransactionStep) -> Void,
        meanwhile: () throws -> Bool = { false }, send: (TransactionalProducer, [Topic]) -> Bool
    ) throws -> TransactionOutcome {
        guard let producer, isInitialized else { return .startOver }
        do throws(TransactionFailure) {
            try producer.begin()
            onStep(.begun)
            guard send(producer, topics) else {
                log.warning("the producer refused records of a transaction; the batch is read again")
                try producer.abort()
                return .startOver
            }
        } catch {
            return startOver(after: error, with: producer)
        }
        let deadline = Deadline(milliseconds: Self.otherWorkMilliseconds)
        while producer.outstandingRecords > 0, deadline.millisecondsLeft > 0, try meanwhile() {
            producer.pollEvents()
        }
        do throws(TransactionFailure) {
            try producer.sendOffsets(offsets, for: group)
            onStep(.offsetsSent)
            try producer.commit()
            return .committed
        } catch {
            return startOver(after: error, with: producer)
        }
    }

    /// Aborts the transaction, or drops the producer if that fails or cannot help.
    private func startOver(
        after failure: TransactionFailure, with producer: TransactionalProducer
    ) -> TransactionOutcome {
        if failure.code.isFencing { producer.countFence() }
        log.warning("a transaction was not committed; its batch is read again", .field("error", failure))
        switch failure.advice {
        case .abortAndRetry, .abortAndDiscard, .retryCall:
            do {
                try producer.abort()
            } catch {
                dropProducer()
            }
        case .replaceProducer: dropProducer()
        }
        return .startOver
    }

    /// Drops a producer that cannot be used any more. `prepare` makes another one with the same id.
    private func dropProducer() {
        producer?.endInBackground()
        producer = nil
        topics = []
        isInitialized = false
    }

    /// Serves errors and statistics. Call it when idle.
    package func pollEvents() { producer?.pollEvents() }
}
