import Broker
import CSimulatedLibrary
import Kafka
import Lifecycle
import Simulation

/// A record that was given to the library, until the loop has its outcome.
struct QueuedRecord {
    let partition: Partition
    let record: LogRecord
    let tag: UnsafeMutableRawPointer?
    let queuedAt: Instant
    /// The leader's answer. Nil while the record is not stored.
    var answer: StoredAnswer?

    struct StoredAnswer {
        let offset: Int64
        let comesAt: Instant
    }
}

/// The identity and the transaction of a transactional producer.
struct ProducerState {
    var id: Int64 = -1
    var epoch: Int16 = -1
    var isOpen = false
    /// The partitions that the coordinator knows.
    var partitions: Set<Partition> = []
    var hasOffsets = false
    /// The error after which the transaction must be aborted.
    var failure: rd_kafka_resp_err_t?
}

extension SimulatedClient {
    // MARK: Records

    func queue(_ record: LogRecord, to partition: Partition, tag: UnsafeMutableRawPointer?)
        -> rd_kafka_resp_err_t
    {
        if fatalError != nil { return RD_KAFKA_RESP_ERR__FATAL }
        if cluster.log(of: partition) == nil { return RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION }
        if properties.transactionalID != nil, !transaction.isOpen { return RD_KAFKA_RESP_ERR__STATE }
        outbox.append(
            QueuedRecord(partition: partition, record: record, tag: tag, queuedAt: MachineClock.now))
        // A transaction sends its records when the loop asks for it.
        if properties.transactionalID == nil { servePublishing() }
        return RD_KAFKA_RESP_ERR_NO_ERROR
    }

    /// Sends the queued records to their leaders, and takes the answers that have come.
    func servePublishing() {
        if isDead || outbox.isEmpty { return }
        let now = MachineClock.now
        // A partition whose leader is away keeps the order of its records.
        var waiting: Set<Partition> = []
        for index in outbox.indices where outbox[index].answer == nil {
            let partition = outbox[index].partition
            if waiting.contains(partition) { continue }
            if let offset = store(outbox[index]) {
                let milliseconds = 1 + cluster.random.number(below: 3)
                let comesAt = now.advanced(byMilliseconds: milliseconds)
                outbox[index].answer = .init(offset: offset, comesAt: comesAt)
                if properties.transactionalID == nil { process.wake(at: comesAt) }
            } else {
                waiting.insert(partition)
            }
        }
        finishRecords { queued in
            if let answer = queued.answer { return answer.comesAt <= now ? RD_KAFKA_RESP_ERR_NO_ERROR : nil }
            let age = now.milliseconds(since: queued.queuedAt)
            return age >= properties.messageMilliseconds ? RD_KAFKA_RESP_ERR__MSG_TIMED_OUT : nil
        }
    }

    /// Appends a record to its partition. Returns its offset, or nil if it has to be sent again.
    private func store(_ queued: QueuedRecord) -> Int64? {
        guard let log = cluster.log(of: queued.partition) else { return nil }
        var record = queued.record
        if properties.transactionalID != nil {
            guard transaction.failure == nil, addToTransaction(queued.partition) else { return nil }
            // A leader knows the newest epoch from the markers.
            if let epoch = log.epochs[transaction.id], epoch > transaction.epoch {
                transaction.failure = RD_KAFKA_RESP_ERR__FENCED
                return nil
            }
            record.producerID = transaction.id
        }
        return cluster.append(record, to: log, epoch: transaction.epoch)
    }

    /// Reports the outcome of the records for which `outcome` returns one.
    func finishRecords(_ outcome: (QueuedRecord) -> rd_kafka_resp_err_t?) {
        var reports: [UnsafeMutablePointer<rd_kafka_message_t>] = []
        outbox.removeAll { queued in
            guard let code = outcome(queued) else { return false }
            let offset = queued.answer?.offset ?? Int64(RD_KAFKA_OFFSET_INVALID)
            guard let report = message(code, of: queued.partition, at: offset, text: "") else { return false }
            report.pointee.payload = nil
            let status =
                if code == RD_KAFKA_RESP_ERR_NO_ERROR {
                    RD_KAFKA_MSG_STATUS_PERSISTED
                } else if queued.answer == nil {
                    RD_KAFKA_MSG_STATUS_NOT_PERSISTED
                } else {
                    RD_KAFKA_MSG_STATUS_POSSIBLY_PERSISTED
                }
            let broker: Int32 = 1
            simulated_message_set_delivery(report, queued.tag, status, broker)
            _ = properties.onAcknowledgement?(pointer, report, properties.acknowledgementOpaque)
            reports.append(report)
            return true
        }
        if properties.transactionalID == nil {
            deliveries += reports
        } else {
            // A transactional producer takes the outcomes in the callback above, so no report waits in its queue.
            for report in reports { rd_kafka_message_destroy(report) }
        }
    }

    // MARK: Transactions

    private var slot: CoordinatorSlot { cluster.slot(of: properties.transactionalID ?? "") }
    private var producer: RequestingProducer {
        RequestingProducer(
            transactionalID: properties.transactionalID ?? "", id: transaction.id, epoch: transaction.epoch)
    }

    /// Asks the coordinator, again while the answer is that it cannot answer now. Each attempt takes a round trip.
    ///
    /// - Returns: nil after the limit.
    private func ask(
        _ request: TransactionRequest, withinMilliseconds limit: Int, code: (TransactionAnswer) -> ErrorCode
    ) -> TransactionAnswer? {
        let start = MachineClock.now
        while !isDead {
            passRoundTrip()
            var answer: TransactionAnswer?
            if slot.isAvailable {
                slot.handle(request) { answer = $0 }
                cluster.deliverAnswers()
                if cluster.losesAnswer() { answer = nil }
            }
            if let answer {
                switch code(answer) {
                case .concurrentTransactions, .notCoordinator, .coordinatorLoadInProgress,
                    .coordinatorNotAvailable:
                    break
                default: return answer
                }
            }
            if MachineClock.now.milliseconds(since: start) >= limit { return nil }
            MachineClock.advance(milliseconds: 20)
            cluster.serve()
        }
        return nil
    }

    /// Adds a partition to the transaction. Returns false if the coordinator does not answer now.
    private func addToTransaction(_ partition: Partition) -> Bool {
        if transaction.partitions.contains(partition) { return true }
        let request = AddPartitionsToTxnRequest(
            version: 3, transactionalID: properties.transactionalID ?? "", producerID: transaction.id,
            producerEpoch: transaction.epoch,
            topics: [TopicPartitions(topic: partition.topic, partitions: [partition.number])])
        guard slot.isAvailable else { return false }
        var answer: TransactionAnswer?
        slot.handle(.addPartitions(request)) { answer = $0 }
        cluster.deliverAnswers()
        guard case .addPartitions(let errors) = answer,
            let error = errors.topics.first?.partitions.first?.error
        else { return false }
        switch error {
        case .none:
            transaction.partitions.insert(partition)
            return true
        case .concurrentTransactions, .notCoordinator, .coordinatorLoadInProgress, .coordinatorNotAvailable:
            return false
        default:
            noteFailure(error)
            return false
        }
    }

    /// Notes an error of the transaction. A fence is fatal for the producer.
    private func noteFailure(_ error: ErrorCode) {
        switch error {
        case .producerFenced, .invalidProducerEpoch, .invalidProducerIDMapping:
            transaction.failure = RD_KAFKA_RESP_ERR__FENCED
            fatalError = (RD_KAFKA_RESP_ERR__FENCED, "another producer has taken over this transactional id")
        default: transaction.failure = rd_kafka_resp_err_t(Int32(error.rawValue))
        }
    }

    func initializeTransactions(withinMilliseconds limit: Int) -> OpaquePointer? {
        let request = InitProducerIDRequest(
            version: 3, transactionalID: properties.transactionalID,
            timeoutMilliseconds: properties.transactionMilliseconds, producerID: -1, producerEpoch: -1)
        let answer = ask(.initProducerID(request), withinMilliseconds: limit) {
            if case .initProducerID(let response) = $0 { response.error } else { .none }
        }
        guard case .initProducerID(let response) = answer else { return timedOut() }
        guard response.error == .none else {
            return simulated_error_new(
                rd_kafka_resp_err_t(Int32(response.error.rawValue)), Int32(SIMULATED_ERROR_FATAL.rawValue),
                "cannot get a producer id")
        }
        transaction = ProducerState(id: response.producerID, epoch: response.producerEpoch)
        return nil
    }

    func beginTransaction() -> OpaquePointer? {
        if let error = fatalFailure() { return error }
        transaction = ProducerState(id: transaction.id, epoch: transaction.epoch, isOpen: true)
        return nil
    }

    func sendOffsets(
        _ offsets: [(Partition, Int64, metadata: String)], for group: GroupSnapshot,
        withinMilliseconds limit: Int
    ) -> OpaquePointer? {
        if let error = failure() { return error }
        let request = AddOffsetsToTxnRequest(
            version: 3, transactionalID: properties.transactionalID ?? "", producerID: transaction.id,
            producerEpoch: transaction.epoch, groupID: group.group)
        let answer = ask(.addOffsets(request), withinMilliseconds: limit) {
            if case .addOffsets(let response) = $0 { response.error } else { .none }
        }
        guard case .addOffsets(let response) = answer else { return timedOut() }
        if response.error != .none {
            noteFailure(response.error)
            return failure()
        }
        transaction.hasOffsets = true
        return commitOffsets(offsets, for: group, withinMilliseconds: limit)
    }

    private func commitOffsets(
        _ offsets: [(Partition, Int64, metadata: String)], for group: GroupSnapshot,
        withinMilliseconds limit: Int
    ) -> OpaquePointer? {
        let request = TxnOffsetCommitRequest(
            transactionalID: properties.transactionalID ?? "", groupID: group.group,
            producerID: transaction.id,
            producerEpoch: transaction.epoch, generation: group.generation, memberID: group.memberID,
            instanceID: group.instance,
            topics: offsets.map { partition, offset, metadata in
                TopicPartitions(
                    topic: partition.topic,
                    partitions: [
                        .init(index: partition.number, offset: offset, leaderEpoch: -1, metadata: metadata)
                    ])
            })
        let groupSlot = cluster.slot(of: group.group)
        let start = MachineClock.now
        while !isDead {
            passRoundTrip()
            if groupSlot.isAvailable {
                // Nil if there is no answer yet.
                let answer =
                    slot.refusal(of: producer, group: group.group) ?? answerToCommit(request, from: groupSlot)
                switch answer {
                case ErrorCode.none?: return nil
                case nil, .notCoordinator, .coordinatorLoadInProgress, .coordinatorNotAvailable,
                    .concurrentTransactions:
                    break
                case let error?:
                    noteFailure(error)
                    return failure()
                }
            }
            if MachineClock.now.milliseconds(since: start) >= limit { break }
            MachineClock.advance(milliseconds: 20)
            cluster.serve()
        }
        return timedOut()
    }

    /// Asks the group's coordinator once. Returns the first error, `ErrorCode.none` for a success, or nil if no answer
    /// came.
    private func answerToCommit(
        _ request: TxnOffsetCommitRequest, from groupSlot: CoordinatorSlot
    ) -> ErrorCode? {
        var answer: ErrorCode?
        groupSlot.handle(.transactionalCommit(request), from: "rdkafka") {
            guard case .transactionalCommit(let errors) = $0 else { return }
            answer = errors.topics.flatMap(\.partitions).map(\.error).first { $0 != .none } ?? ErrorCode.none
        }
        cluster.deliverAnswers()
        return answer
    }

    func endTransaction(commits: Bool, withinMilliseconds limit: Int) -> OpaquePointer? {
        if commits, let error = failure() { return error }
        if !commits {
            if let error = fatalFailure() { return error }
            finishRecords { _ in RD_KAFKA_RESP_ERR__PURGE_QUEUE }
        }
        if transaction.partitions.isEmpty, !transaction.hasOffsets {
            transaction.isOpen = false
            return nil
        }
        let request = EndTxnRequest(
            version: 3, transactionalID: properties.transactionalID ?? "", producerID: transaction.id,
            producerEpoch: transaction.epoch, commits: commits)
        let answer = ask(.end(request), withinMilliseconds: limit) {
            if case .end(let response) = $0 { response.error } else { .none }
        }
        guard case .end(let response) = answer else { return timedOut() }
        if response.error != .none {
            noteFailure(response.error)
            return failure()
        }
        transaction.isOpen = false
        process.noteTransaction(commits: commits)
        return nil
    }

    // MARK: Errors

    // The errors are objects of the library. Nil means that there is no error.

    private func timedOut() -> OpaquePointer? {
        simulated_error_new(
            RD_KAFKA_RESP_ERR__TIMED_OUT, Int32(SIMULATED_ERROR_RETRIABLE.rawValue), "no answer in time")
    }

    /// Returns an error if this producer can do nothing any more.
    private func fatalFailure() -> OpaquePointer? {
        if isDead {
            return simulated_error_new(
                RD_KAFKA_RESP_ERR__FATAL, Int32(SIMULATED_ERROR_FATAL.rawValue), "the process is dead")
        }
        return fatalError.map { simulated_error_new($0.code, Int32(SIMULATED_ERROR_FATAL.rawValue), $0.text) }
    }

    /// Returns an error if the transaction cannot go on: a fatal one, or one after which it must be aborted.
    private func failure() -> OpaquePointer? {
        if let error = fatalFailure() { return error }
        return transaction.failure.map {
            simulated_error_new(
                $0, Int32(SIMULATED_ERROR_ABORTABLE.rawValue), "the transaction must be aborted")
        }
    }
}

/// The group metadata of a consumer at one moment.
final class GroupSnapshot {
    let group: String
    let generation: Int32
    let memberID: String
    let instance: String?

    init(of membership: GroupMembership, instance: String?) {
        group = membership.group
        generation = membership.generation
        memberID = membership.memberID
        self.instance = instance
    }
}
