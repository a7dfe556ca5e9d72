internal import Lifecycle
package import Telemetry

/// The one transactional producer of a stage's loop. It replaces the producer after a failure that
/// requires a new one. Pinned to the loop's thread.
package final class StageTransaction {
    package enum Outcome: Sendable, Equatable {
        case committed
        /// The transaction was aborted, or its outcome is unknown. Read the batch again from the
        /// committed offsets.
        case startOver
    }

    /// The steps of a transaction after which a process can die. Tests kill it there.
    package enum Step: Sendable { case begun, offsetsSent }

    /// The longest wait of a start for a cluster that has just been started itself.
    package static let startMilliseconds = 30_000
    /// The pause between two attempts of `prepare`.
    private static let pauseMicroseconds: UInt32 = 50_000
    /// The longest time for other work while the cluster stores the records. It usually takes much less.
    private static let meanwhileMilliseconds = 1000

    private let make: () throws -> TransactionalProducer
    private let topicNames: [String]
    private let log: Log
    private var producer: TransactionalProducer?
    private var topics: [Topic] = []
    private var isInitialised = false

    /// - Parameter make: makes a producer with the loop's transactional id.
    package init(topics: [String], log: Log, make: @escaping () throws -> TransactionalProducer) {
        self.make = make
        self.log = log
        topicNames = topics
    }

    /// Whether a producer can begin a transaction. If not, call `prepare`.
    package var isReady: Bool { isInitialised }

    /// Makes a producer and fences any earlier producer with the same id. Retries problems that heal by
    /// themselves.
    ///
    /// - Returns: nil, or the call that still fails, with the cluster's error code.
    package func prepare(withinMilliseconds limit: Int) throws -> String? {
        if isInitialised { return nil }
        let deadline = Deadline(milliseconds: limit)
        while true {
            let obstacle: String
            do {
                let producer = try producer ?? fresh()
                try producer.initialise(withinMilliseconds: deadline.millisecondsLeft)
                isInitialised = true
                warmUp(producer, until: deadline)
                return nil
            } catch let failure as TransactionFailure {
                if failure.code.isAccessRefused {
                    throw KafkaError(failure.operation.rawValue, failure.code, text: failure.text)
                }
                // A call that timed out continues where it is, with the same producer.
                if failure.code.isFencing { producer?.countFence() }
                if failure.advice != .callAgain { dropProducer() }
                obstacle = failure.description
                if failure.code.healing == .never, !failure.code.isFencing { return obstacle }
            } catch let error as KafkaError where error.code.healing != .never {
                obstacle = error.description
            }
            if deadline.millisecondsLeft == 0 { return obstacle }
            pause(microseconds: Self.pauseMicroseconds)
        }
    }

    private func fresh() throws -> TransactionalProducer {
        let made = try make()
        topics = try topicNames.map { name throws(KafkaError) in try made.topic(name) }
        producer = made
        return made
    }

    /// Connects to all leaders, so that the first transaction is as fast as the others. A missing leader
    /// must not delay the other partitions. So the producer finds the remaining leaders later.
    private func warmUp(_ producer: TransactionalProducer, until deadline: Deadline) {
        do {
            try producer.warmUp(topics, withinMilliseconds: deadline.millisecondsLeft)
        } catch {
            log.warning(
                "some partitions cannot be reached yet; the stage begins without them",
                .field("error", error))
        }
    }

    /// Runs one transaction. `send` queues its records through the producer that it receives. It returns
    /// false if the producer refused a record.
    ///
    /// - Parameters:
    ///   - group: the group metadata, captured before this work.
    ///   - meanwhile: does a piece of other work. It is repeated until the cluster has the records.
    ///     It returns false if no work is left.
    package func run(
        _ offsets: [OffsetToCommit], _ group: GroupMetadata, onStep: (Step) -> Void,
        meanwhile: () throws -> Bool = { false }, send: (TransactionalProducer, [Topic]) -> Bool
    ) throws -> Outcome {
        guard let producer, isInitialised else { return .startOver }
        do throws(TransactionFailure) {
            try producer.begin()
            onStep(.begun)
            guard send(producer, topics) else {
                log.warning("the producer refused records of a transaction; the batch is read again")
                try producer.abort()
                return .startOver
            }
        } catch {
            return startOver(after: error, producer)
        }
        let until = Deadline(milliseconds: Self.meanwhileMilliseconds)
        while producer.outstanding > 0, until.millisecondsLeft > 0, try meanwhile() { producer.serve() }
        do throws(TransactionFailure) {
            try producer.sendOffsets(offsets, group)
            onStep(.offsetsSent)
            try producer.commit()
            return .committed
        } catch {
            return startOver(after: error, producer)
        }
    }

    private func startOver(
        after failure: TransactionFailure, _ producer: TransactionalProducer
    ) -> Outcome {
        if failure.code.isFencing { producer.countFence() }
        log.warning("a transaction was not committed; its batch is read again", .field("error", failure))
        switch failure.advice {
        case .abortAndRepeat, .abortAndDrop, .callAgain:
            do {
                try producer.abort()
            } catch {
                dropProducer()
            }
        case .rebuild: dropProducer()
        }
        return .startOver
    }

    /// Drops a producer that cannot be used any more. `prepare` makes another one with the same id.
    private func dropProducer() {
        producer?.replace()
        producer = nil
        topics = []
        isInitialised = false
    }

    /// Serves errors and statistics. Call it when idle.
    package func serve() { producer?.serve() }
}
