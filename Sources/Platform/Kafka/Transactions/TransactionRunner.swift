package import Lifecycle
package import Telemetry

/// A runner of a stage's transactions. It owns the one transactional producer of a loop, and replaces the
/// producer after a failure that requires a new one. It is pinned to the loop's thread.
///
/// A transaction cannot end while one of its partitions takes no records, and Kafka refuses its id until then. Such an
/// id is *stalled*: it is set aside, the loop uses another id, and a producer in the background ends the
/// transaction (`StalledTransactions`).
package final class TransactionRunner {
    package enum TransactionOutcome: Sendable, Equatable {
        case committed
        /// The transaction could not begin, was aborted, or its outcome is unknown. Read the batch again from the
        /// committed offsets.
        case startOver
        /// The transaction was aborted, because these partitions take no records now. Read the batch again, and
        /// repeat the work without the parts that write there, until `recoverPartitions` returns the partitions.
        case unavailable(Set<TopicPartition>)
    }

    /// The steps of a transaction between which a process can die. Tests kill it there.
    package enum TransactionStep: Sendable { case begun, offsetsSent }

    /// The longest wait of a starting process for a cluster that has just been started too.
    package static let startMillisecondsMax = 30_000
    /// The pause between two attempts of `prepare`.
    private static let pauseMicroseconds: UInt32 = 50_000
    /// The longest time for other work while the cluster stores the records. Storing usually takes much less.
    private static let otherWorkMilliseconds = 1000

    /// The pause between two attempts to end the transactions of stalled ids.
    private static let recoveryIntervalMilliseconds = 100
    /// The limit of one such attempt on the loop's thread. The library continues it in the background.
    private static let recoveryMillisecondsMax = 1

    private let makeProducer: (Int) throws -> TransactionalProducer
    private let topicNames: [String]
    private let log: Log
    // The producer and its topics, if there is one, and whether it can begin a transaction.
    private var producer: TransactionalProducer?
    private var topics: [Topic] = []
    private var isInitialized = false
    // The producers that end the last transactions of stalled ids, by the number of the id.
    private var stalled = StalledTransactions()
    private var stalledProducers: [Int: TransactionalProducer] = [:]
    private var nextRecovery = Instant(nanoseconds: 0)

    /// - Parameter makeProducer: makes a producer with a transactional id of the loop. The ids have numbers from 0,
    ///   which is the usual one, to 3.
    package init(topics: [String], log: Log, makeProducer: @escaping (Int) throws -> TransactionalProducer) {
        self.makeProducer = makeProducer
        self.log = log
        topicNames = topics
    }

    /// Whether a producer can begin a transaction. If not, call `prepare`.
    package var isReady: Bool { isInitialized }

    /// The partitions that take no records now. A transaction that writes to one of them is refused at once.
    package var unavailablePartitions: Set<TopicPartition> { stalled.partitions }

    /// Makes a producer and fences any earlier producer with the same id. Retries transient failures within
    /// the limit.
    ///
    /// - Returns: Nil if the producer is ready, or the text of the failure that remains. A later call may succeed. A
    ///   failure that waiting cannot remove is returned at once.
    /// - Throws: A refused access, or a producer that cannot be made.
    package func prepare(withinMilliseconds limit: Int) throws -> String? {
        if isInitialized { return nil }
        let deadline = Deadline(milliseconds: limit)
        while true {
            let remainingFailure: String
            do {
                let producer = try producer ?? installNewProducer()
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
                let canWaitingHelp = failure.code.retryability != .never || failure.code.isFencing
                guard canWaitingHelp else { return remainingFailure }
            } catch let error as KafkaError where error.code.retryability != .never {
                remainingFailure = error.description
            }
            if deadline.millisecondsLeft == 0 { return remainingFailure }
            pause(microseconds: Self.pauseMicroseconds)
        }
    }

    private func installNewProducer() throws -> TransactionalProducer {
        let newProducer = try makeProducer(stalled.currentID)
        topics = try makeTopics(of: newProducer)
        producer = newProducer
        return newProducer
    }

    private func makeTopics(of producer: TransactionalProducer) throws(KafkaError) -> [Topic] {
        try topicNames.map { name throws(KafkaError) in try producer.topic(named: name) }
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
    ///   - onStep: is called after each step, for tests.
    ///   - meanwhile: does a piece of other work. It is repeated until the cluster has the records. It
    ///     returns false if no work is left.
    ///   - send: queues the records through the producer that it receives. It returns false if the producer
    ///     refused a record.
    package func run(
        committing offsets: [OffsetToCommit], for group: GroupMetadata, onStep: (TransactionStep) -> Void,
        meanwhile: () throws -> Bool = { false }, send: (TransactionalProducer, [Topic]) -> Bool
    ) throws -> TransactionOutcome {
        guard let producer, isInitialized else { return .startOver }
        producer.unavailablePartitions = stalled.partitions
        do throws(TransactionFailure) {
            try producer.begin()
            onStep(.begun)
            let areAllQueued = send(producer, topics)
            if !areAllQueued {
                if let partition = producer.takeRefusedPartition() {
                    try producer.abort()
                    return .unavailable([partition])
                }
                log.warning("the producer refused records of a transaction; the batch is read again")
                if producer.isQueueStuck, let partitions = setAside(producer) {
                    return .unavailable(partitions)
                }
                try producer.abort()
                return .startOver
            }
        } catch {
            return handle(error, of: producer)
        }
        let deadline = Deadline(milliseconds: Self.otherWorkMilliseconds)
        while producer.outstandingRecords > 0, deadline.millisecondsLeft > 0 {
            let didWork = try meanwhile()
            if !didWork { break }
            producer.pollEvents()
        }
        let offsetsSentAt = Instant.now()
        do throws(TransactionFailure) {
            try producer.sendOffsets(offsets, for: group)
            onStep(.offsetsSent)
            try producer.commit()
            return .committed
        } catch {
            // Only `sendOffsets` can take longer than the limit of a call, because the library waits for late answers.
            let milliseconds = Instant.now().milliseconds(since: offsetsSentAt)
            let isLate =
                error.operation == .sendOffsets && milliseconds > TransactionalProducer.callMillisecondsMax
            return handle(error, of: producer, isLate: isLate)
        }
    }

    /// Ends a failed transaction: sets its id aside if partitions took no records, else aborts it, or drops the producer if
    /// that fails or cannot help. The caller reads the batch again in each case.
    ///
    /// - Parameter isLate: Whether the loop has waited so long that it must not wait for an abort too.
    private func handle(
        _ failure: TransactionFailure, of producer: TransactionalProducer, isLate: Bool = false
    ) -> TransactionOutcome {
        if failure.code.isFencing { producer.countFence() }
        log.warning("a transaction was not committed; its batch is read again", .field("error", failure))
        if failure.isDeliveryFailure, let partitions = setAside(producer) { return .unavailable(partitions) }
        let needsNewProducer = isLate || failure.advice == .replaceProducer
        if needsNewProducer {
            dropProducer()
            return .startOver
        }
        do {
            try producer.abort()
        } catch {
            dropProducer()
        }
        return .startOver
    }

    // MARK: Partitions that take no records

    /// Sets aside the id of a producer whose records were not delivered in time. Returns the partitions that did not
    /// take them, or nil if they are unknown or no other id is free.
    private func setAside(_ producer: TransactionalProducer) -> Set<TopicPartition>? {
        let undelivered = producer.discardUndelivered()
        guard !undelivered.isEmpty, producer.fatalError == nil else { return nil }
        let stalledID = stalled.currentID
        guard stalled.stallCurrentID(undelivered: undelivered, at: .now()) else { return nil }
        dropProducer()
        endTransaction(of: stalledID)
        return undelivered
    }

    /// Lets a new producer end the last transaction of a stalled id, in the background.
    private func endTransaction(of id: Int) {
        do {
            let producer = try stalledProducers[id] ?? makeProducer(id)
            stalledProducers[id] = producer
            try producer.initialize(withinMilliseconds: Self.recoveryMillisecondsMax)
            stalled.markEnded(id)
        } catch let failure as TransactionFailure where failure.advice == .retryCall {
            return
        } catch {
            log.warning("a stalled transaction cannot be ended now; trying again", .field("error", error))
            stalledProducers.removeValue(forKey: id)?.endInBackground()
        }
    }

    /// Looks whether unavailable partitions take records again. Does not wait. Returns the partitions that do. Call it
    /// between two transactions.
    package func recoverPartitions(at now: Instant) throws -> Set<TopicPartition> {
        guard !stalled.stalls.isEmpty, now >= nextRecovery else { return [] }
        nextRecovery = now.advanced(byMilliseconds: Self.recoveryIntervalMilliseconds)
        for stall in stalled.stalls where !stall.hasEnded { endTransaction(of: stall.id) }
        let idBefore = stalled.currentID
        // The loop returns to the lowest id that is free.
        let recovered = stalled.takeRecovered(at: now)
        let returnsToLowerID = stalled.currentID != idBefore
        for stall in recovered {
            guard let producer = stalledProducers.removeValue(forKey: stall.id) else { continue }
            guard returnsToLowerID, stall.id == stalled.currentID else {
                producer.endInBackground()
                continue
            }
            // This producer takes the place of the one with the higher id.
            dropProducer()
            do {
                topics = try makeTopics(of: producer)
            } catch {
                // Otherwise it would end on this thread, which may take seconds.
                producer.endInBackground()
                throw error
            }
            self.producer = producer
            isInitialized = true
        }
        // A partition may also be in another transaction that has not ended.
        return Set(recovered.flatMap(\.partitions)).subtracting(stalled.partitions)
    }

    /// Drops a producer that cannot be used any more. `prepare` makes another one with the same id.
    private func dropProducer() {
        producer?.endInBackground()
        producer = nil
        topics = []
        isInitialized = false
    }

    /// Serves errors and statistics. Call it when idle.
    package func pollEvents() {
        producer?.pollEvents()
        for producer in stalledProducers.values { producer.pollEvents() }
    }
}
