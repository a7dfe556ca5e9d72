/// The requests within a transaction: AddPartitionsToTxn, AddOffsetsToTxn and EndTxn.
extension TransactionCoordinator {
    /// From this version of each of these requests on, a client knows PRODUCER_FENCED.
    private static let firstVersionWithFencedError: Int16 = 2

    // MARK: Additions

    /// Adds partitions to the producer's transaction, or begins one with them.
    func addPartitions(_ request: AddPartitionsToTxnRequest, from token: ReplyToken) {
        let partitions = request.topics.flatMap { topic in
            topic.partitions.map { PartitionID(topic: topic.topic, partition: $0) }
        }
        let unknown = Set(partitions.filter { !partitionExists($0) })
        guard unknown.isEmpty else {
            return reply(to: token, with: .addPartitions(.refused(request.topics, unknown: unknown)))
        }
        switch admit(request.producer) {
        case .failure(let error):
            let clientError = clientError(for: error, version: request.version)
            reply(to: token, with: .addPartitions(.all(request.topics, error: clientError)))
        case .success(let transaction):
            var facts = transaction.facts.opened(at: now.wall)
            facts.partitions.formUnion(partitions)
            extend(
                transaction, to: facts, answering: token,
                with: .addPartitions(.all(request.topics, error: .none)))
        }
    }

    /// Adds a group to the producer's transaction, or begins one with it.
    func addOffsets(_ request: AddOffsetsToTxnRequest, from token: ReplyToken) {
        func answer(_ error: ErrorCode) -> TransactionAnswer {
            .addOffsets(TransactionErrorResponse(error: error))
        }
        switch admit(request.producer) {
        case .failure(let error):
            reply(to: token, with: answer(clientError(for: error, version: request.version)))
        case .success(let transaction):
            guard !request.groupID.isEmpty else { return reply(to: token, with: answer(.invalidGroupID)) }
            var facts = transaction.facts.opened(at: now.wall)
            let hasRoom = facts.groups.count < settings.groupsPerTransactionMax
            guard hasRoom || facts.groups.contains(request.groupID) else {
                return reply(to: token, with: answer(.invalidRequest))
            }
            facts.groups.insert(request.groupID)
            extend(transaction, to: facts, answering: token, with: answer(.none))
        }
    }

    /// Returns the producer's transactional id if the producer may add to its transaction or begin one now.
    private func admit(_ producer: RequestingProducer) -> Result<Transaction, ErrorCode> {
        guard !producer.transactionalID.isEmpty else { return .failure(.invalidRequest) }
        guard let transaction = transactions[producer.transactionalID] else {
            return .failure(.invalidProducerIDMapping)
        }
        // As in Kafka, this comes first: the change under way may give the producer another id or epoch.
        if transaction.isChanging { return .failure(.concurrentTransactions) }
        guard transaction.facts.producerID == producer.id else {
            return .failure(.invalidProducerIDMapping)
        }
        guard transaction.facts.epoch == producer.epoch else { return .failure(.producerFenced) }
        if transaction.facts.state.isPrepared { return .failure(.concurrentTransactions) }
        return .success(transaction)
    }

    /// Stores the extended transaction. A repeated request adds nothing, so it is answered at once.
    private func extend(
        _ transaction: Transaction, to facts: TransactionFacts, answering token: ReplyToken,
        with answer: TransactionAnswer
    ) {
        if facts == transaction.facts { return reply(to: token, with: answer) }
        change(transaction, to: facts, then: .init(token: token, answer: answer))
    }

    // MARK: End

    /// Decides to commit or to abort, as the producer asks. `decide` answers when the markers were tried once.
    func end(_ request: EndTxnRequest, from token: ReplyToken) {
        switch verdict(on: request) {
        case .refused(let error):
            let clientError = clientError(for: error, version: request.version)
            reply(to: token, with: .end(TransactionErrorResponse(error: clientError)))
        case .alreadyEnded: reply(to: token, with: .end(TransactionErrorResponse()))
        case .decides(let transaction):
            var facts = transaction.facts
            facts.state = request.commits ? .prepareCommit : .prepareAbort
            decide(transaction, to: facts, answering: token)
        }
    }

    private enum EndVerdict {
        case decides(Transaction)
        /// The request is a repeated one. Its first answer was lost.
        case alreadyEnded
        case refused(ErrorCode)
    }

    private func verdict(on request: EndTxnRequest) -> EndVerdict {
        guard !request.transactionalID.isEmpty else { return .refused(.invalidRequest) }
        guard let transaction = transactions[request.transactionalID],
            transaction.facts.producerID == request.producerID
        else { return .refused(.invalidProducerIDMapping) }
        let facts = transaction.facts
        guard facts.epoch == request.producerEpoch else { return .refused(.producerFenced) }
        // As in Kafka, this comes after the epoch: a fenced producer learns that also during a change.
        if transaction.isChanging { return .refused(.concurrentTransactions) }
        switch facts.state {
        case .ongoing: return .decides(transaction)
        case .completeCommit: return request.commits ? .alreadyEnded : .refused(.invalidTxnState)
        case .completeAbort: return request.commits ? .refused(.invalidTxnState) : .alreadyEnded
        case .prepareCommit: return .refused(request.commits ? .concurrentTransactions : .invalidTxnState)
        case .prepareAbort: return .refused(request.commits ? .invalidTxnState : .concurrentTransactions)
        case .empty: return .refused(.invalidTxnState)
        }
    }

    private func clientError(for error: ErrorCode, version: Int16) -> ErrorCode {
        error.known(byVersion: version, fencedSince: Self.firstVersionWithFencedError)
    }
}

extension ErrorCode {
    /// Returns the error for a client of this version. A client older than `firstVersion` does not know
    /// PRODUCER_FENCED.
    func known(byVersion version: Int16, fencedSince firstVersion: Int16) -> ErrorCode {
        self == .producerFenced && version < firstVersion ? .invalidProducerEpoch : self
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
