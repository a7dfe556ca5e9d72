/// The requests within a transaction: AddPartitionsToTxn, AddOffsetsToTxn and EndTxn.
extension TransactionCoordinator {
    /// From this version of each of these requests on, a client knows PRODUCER_FENCED.
    private static let firstVersionWithFencedError: Int16 = 2

    func addPartitions(_ request: AddPartitionsToTxnRequest, from token: ReplyToken) {
        let partitions = request.topics.flatMap { topic in
            topic.partitions.map { PartitionID(topic: topic.topic, partition: $0) }
        }
        let unknown = Set(partitions.filter { !partitionExists($0) })
        guard unknown.isEmpty else {
            return reply(to: token, with: .addPartitions(.refused(request.topics, unknown: unknown)))
        }
        let producer = Producer(
            transactionalID: request.transactionalID, id: request.producerID, epoch: request.producerEpoch)
        switch owned(by: producer) {
        case .failure(let error):
            let clientError = clientError(for: error, version: request.version)
            reply(to: token, with: .addPartitions(.all(request.topics, error: clientError)))
        case .success(let transaction):
            let answer = TransactionAnswer.addPartitions(.all(request.topics, error: .none))
            extend(transaction, partitions: partitions, groups: [], answering: token, with: answer)
        }
    }

    func addOffsets(_ request: AddOffsetsToTxnRequest, from token: ReplyToken) {
        let producer = Producer(
            transactionalID: request.transactionalID, id: request.producerID, epoch: request.producerEpoch)
        switch owned(by: producer) {
        case .failure(let error):
            let clientError = clientError(for: error, version: request.version)
            reply(to: token, with: .addOffsets(TransactionResponse(error: clientError)))
        case .success(let transaction):
            guard !request.groupID.isEmpty else {
                return reply(to: token, with: .addOffsets(TransactionResponse(error: .invalidGroupID)))
            }
            let groups = transaction.facts.state == .ongoing ? transaction.facts.groups : []
            guard groups.contains(request.groupID) || groups.count < settings.groupsPerTransactionMax else {
                return reply(to: token, with: .addOffsets(TransactionResponse(error: .invalidRequest)))
            }
            extend(
                transaction, partitions: [], groups: [request.groupID], answering: token,
                with: .addOffsets(TransactionResponse()))
        }
    }

    /// The producer that a request names.
    package struct Producer {
        package let transactionalID: String
        package let id: Int64
        package let epoch: Int16

        package init(transactionalID: String, id: Int64, epoch: Int16) {
            self.transactionalID = transactionalID
            self.id = id
            self.epoch = epoch
        }
    }

    /// Returns the transaction that this producer may continue.
    private func owned(by producer: Producer) -> Result<Transaction, ErrorCode> {
        guard !producer.transactionalID.isEmpty else { return .failure(.invalidRequest) }
        guard let transaction = transactions[producer.transactionalID] else {
            return .failure(.invalidProducerIDMapping)
        }
        if transaction.isChanging { return .failure(.concurrentTransactions) }
        guard transaction.facts.producerID == producer.id else {
            return .failure(.invalidProducerIDMapping)
        }
        guard transaction.facts.epoch == producer.epoch else {
            return .failure(.producerFenced)
        }
        if transaction.facts.state.isPrepared { return .failure(.concurrentTransactions) }
        return .success(transaction)
    }

    /// Returns the error that a client of this version knows.
    private func clientError(for error: ErrorCode, version: Int16) -> ErrorCode {
        let isUnknownToClient = error == .producerFenced && version < Self.firstVersionWithFencedError
        return isUnknownToClient ? .invalidProducerEpoch : error
    }

    /// Adds partitions and groups to the open transaction, or begins a transaction with them.
    private func extend(
        _ transaction: Transaction, partitions: [PartitionID], groups: [String],
        answering token: ReplyToken,
        with answer: TransactionAnswer
    ) {
        var facts = transaction.facts
        if facts.state != .ongoing {
            facts.state = .ongoing
            facts.partitions.removeAll()
            facts.groups.removeAll()
            facts.startedAt = now.wall
        }
        facts.partitions.formUnion(partitions)
        facts.groups.formUnion(groups)
        if facts == transaction.facts { return reply(to: token, with: answer) }
        change(transaction, to: facts, answering: token, with: answer)
    }

    /// Decides to commit or to abort, as the producer asks.
    func end(_ request: EndTxnRequest, from token: ReplyToken) {
        let error = endError(of: request)
        guard error == nil, let transaction = transactions[request.transactionalID] else {
            let reportedError = clientError(for: error ?? .none, version: request.version)
            return reply(to: token, with: .end(TransactionResponse(error: reportedError)))
        }
        // A repeated request, whose first answer was lost.
        guard transaction.facts.state == .ongoing else {
            return reply(to: token, with: .end(TransactionResponse()))
        }
        var facts = transaction.facts
        facts.state = request.commits ? .prepareCommit : .prepareAbort
        decide(transaction, to: facts, answering: token)
    }

    /// Returns the error of a request to end a transaction. Returns nil also for a repeated request with
    /// the same decision.
    private func endError(of request: EndTxnRequest) -> ErrorCode? {
        guard !request.transactionalID.isEmpty else { return .invalidRequest }
        guard let transaction = transactions[request.transactionalID],
            transaction.facts.producerID == request.producerID
        else { return .invalidProducerIDMapping }
        let facts = transaction.facts
        guard facts.epoch == request.producerEpoch else { return .producerFenced }
        if transaction.isChanging { return .concurrentTransactions }
        switch facts.state {
        case .ongoing: return nil
        case .completeCommit: return request.commits ? nil : .invalidTxnState
        case .completeAbort: return request.commits ? .invalidTxnState : nil
        case .prepareCommit: return request.commits ? .concurrentTransactions : .invalidTxnState
        case .prepareAbort: return request.commits ? .invalidTxnState : .concurrentTransactions
        case .empty: return .invalidTxnState
        }
    }
}

extension PartitionErrors {
    /// Returns the answer if some partitions are unknown and therefore none was added.
    fileprivate static func refused(
        _ topics: [TopicPartitions<Int32>], unknown: Set<PartitionID>
    ) -> PartitionErrors {
        PartitionErrors(
            topics: topics.map { topic in
                TopicPartitions(
                    topic: topic.topic,
                    partitions: topic.partitions.map { index in
                        let partition = PartitionID(topic: topic.topic, partition: index)
                        let error: ErrorCode =
                            unknown.contains(partition) ? .unknownTopicOrPartition : .operationNotAttempted
                        return Partition(index: index, error: error)
                    })
            })
    }
}
