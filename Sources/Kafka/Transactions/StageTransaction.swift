internal import Lifecycle
package import Telemetry

/// The one transactional producer of a stage's loop, and what its failures ask for. Pinned to the loop's
/// thread.
package final class StageTransaction {
    package enum Outcome: Sendable, Equatable {
        case committed
        /// Nothing of it happened, or it is not known: read the batch again from the committed offsets.
        case startOver
    }

    /// The places within a transaction between which a process can die.
    package enum Step: Sendable { case begun, offsetsSent }

    /// How long a start may wait for a cluster that has just been started itself.
    package static let startMilliseconds = 30_000
    /// Between two tries with a producer of its own each.
    private static let pauseMicroseconds: UInt32 = 50_000
    /// How long other work may go on while the cluster takes the records; it is over much sooner.
    private static let meanwhileMilliseconds = 1000

    private let make: () throws -> TransactionalProducer
    private let topicNames: [String]
    private let log: Log
    private var producer: TransactionalProducer?
    private var topics: [Topic] = []
    private var isInitialised = false

    /// - Parameter make: a producer with the loop's id.
    package init(topics: [String], log: Log, make: @escaping () throws -> TransactionalProducer) {
        self.make = make
        self.log = log
        topicNames = topics
    }

    /// Whether there is a producer that can begin; otherwise `prepare`.
    package var isReady: Bool { isInitialised }

    /// Makes a producer and fences whoever had its id before. What heals by itself is waited for.
    ///
    /// - Returns: nil, or what does not work yet: which call, and the cluster's code.
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
                // A call that was not over in time goes on where it stands, with the same producer.
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

    /// The first transaction is then as quick as the others. One leader that is missing must not keep the
    /// other partitions waiting: so what is not known in time is learnt on the way.
    private func warmUp(_ producer: TransactionalProducer, until deadline: Deadline) {
        do {
            try producer.warmUp(topics, withinMilliseconds: deadline.millisecondsLeft)
        } catch {
            log.warning(
                "not every partition can be reached yet; beginning all the same", .field("error", error))
        }
    }

    /// Runs one transaction. `send` queues its records through the closure it is given, which is false
    /// when a record was not taken.
    ///
    /// - Parameters:
    ///   - group: captured before, for this work.
    ///   - meanwhile: a piece of other work, done again and again until the cluster has the records; false when there
    ///     is none.
    package func run(
        _ offsets: [OffsetToCommit], _ group: GroupMetadata, onStep: (Step) -> Void,
        meanwhile: () throws -> Bool = { false }, send: (TransactionalProducer, [Topic]) -> Bool
    ) throws -> Outcome {
        guard let producer, isInitialised else { return .startOver }
        do throws(TransactionFailure) {
            try producer.begin()
            onStep(.begun)
            guard send(producer, topics) else {
                log.warning("records of a transaction were not taken; the batch is read again")
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

    /// Lets go of a producer that can do no more. `prepare` makes another one with the same id.
    private func dropProducer() {
        producer?.replace()
        producer = nil
        topics = []
        isInitialised = false
    }

    /// When idle: errors and statistics.
    package func serve() { producer?.serve() }
}
