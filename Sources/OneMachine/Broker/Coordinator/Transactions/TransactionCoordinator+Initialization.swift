/// InitProducerId: a new producer with a transactional id fences the earlier one. After an error, a
/// producer moves itself to the next epoch.
extension TransactionCoordinator {
    /// From this version on, a client knows PRODUCER_FENCED.
    private static let firstInitVersionWithFencedError: Int16 = 4

    /// A request that waits for producer ids.
    struct WaitingRequest {
        let request: InitProducerIDRequest
        let token: ReplyToken
    }

    /// Gives a producer its id and epoch. Without a transactional id, that is a new id. A request waits if
    /// all reserved ids are used.
    func initProducerID(_ request: InitProducerIDRequest, from token: ReplyToken) {
        guard let id = request.transactionalID else {
            guard let producerID = producerIDs.take() else { return waitForIDs(request, token: token) }
            return reply(
                to: token,
                with: .initProducerID(InitProducerIDResponse(producerID: producerID, producerEpoch: 0)))
        }
        let namesProducer = request.producerID != -1
        let namesEpoch = request.producerEpoch != TransactionFacts.noEpoch
        guard !id.isEmpty, namesProducer == namesEpoch else {
            return refuse(request, answering: token, with: .invalidRequest)
        }
        guard request.timeoutMilliseconds > 0,
            Int(request.timeoutMilliseconds) <= settings.timeoutMaximumMilliseconds
        else { return refuse(request, answering: token, with: .invalidTransactionTimeout) }
        if let transaction = transactions[id] {
            return initialize(transaction, as: request, answering: token)
        }
        guard transactions.count < settings.transactionalIDsMax else {
            return refuse(request, answering: token, with: .policyViolation)
        }
        guard let producerID = producerIDs.take() else { return waitForIDs(request, token: token) }
        let facts = TransactionFacts(
            producerID: producerID, timeoutMilliseconds: request.timeoutMilliseconds, updatedAt: now.wall)
        let transaction = Transaction(id: id, facts: facts)
        transactions[id] = transaction
        initialize(transaction, as: request, answering: token)
    }

    /// Keeps the request until more producer ids are reserved.
    private func waitForIDs(_ request: InitProducerIDRequest, token: ReplyToken) {
        waitingForIDs.append(WaitingRequest(request: request, token: token))
        guard let end = producerIDs.beginExtension(by: settings.producerIDBlock) else { return }
        persist([TransactionRecords.producerIDs(reservedBelow: end)], then: .producerIDs(end: end))
    }

    private func refuse(_ request: InitProducerIDRequest, answering token: ReplyToken, with error: ErrorCode)
    {
        let clientError = error.known(
            byVersion: request.version, fencedSince: Self.firstInitVersionWithFencedError)
        reply(to: token, with: .initProducerID(InitProducerIDResponse(error: clientError)))
    }

    /// Makes the sender of the request the owner of a transactional id. Its open transaction is aborted
    /// first.
    private func initialize(
        _ transaction: Transaction, as request: InitProducerIDRequest, answering token: ReplyToken
    ) {
        if transaction.isChanging { return refuse(request, answering: token, with: .concurrentTransactions) }
        guard isOwner(request, of: transaction.facts) else {
            return refuse(request, answering: token, with: .producerFenced)
        }
        switch transaction.facts.state {
        case .prepareCommit, .prepareAbort: refuse(request, answering: token, with: .concurrentTransactions)
        case .ongoing:
            // The answer leaves when the decision is durable. The client repeats the request until the
            // markers are written.
            fence(transaction, answering: token)
        case .empty, .completeCommit, .completeAbort:
            advanceEpoch(of: transaction, for: request, answering: token)
        }
    }

    /// Whether the producer may initialize the transactional id. A request without a producer id always
    /// may. A producer that names its id must be the owner, or the owner before its epochs were exhausted,
    /// or there must be no owner.
    private func isOwner(_ request: InitProducerIDRequest, of facts: TransactionFacts) -> Bool {
        if request.producerID == -1 || facts.epoch == TransactionFacts.noEpoch { return true }
        if request.producerID == facts.producerID { return true }
        return request.producerID == facts.previousProducerID
            && TransactionFacts.isExhausted(epoch: request.producerEpoch)
    }

    /// Gives the next epoch, or the next producer id if the epochs are exhausted. A repeated request gets the same
    /// answer as the first.
    private func advanceEpoch(
        of transaction: Transaction, for request: InitProducerIDRequest, answering token: ReplyToken
    ) {
        var facts = transaction.facts
        let isNew = facts.epoch == TransactionFacts.noEpoch
        let namesProducer = request.producerID != -1
        let namesOtherEpoch = namesProducer && request.producerEpoch != facts.epoch
        // Only a request that names its epoch can be recognized when it is repeated.
        let previousEpoch = namesProducer ? facts.epoch : TransactionFacts.noEpoch
        facts.timeoutMilliseconds = request.timeoutMilliseconds
        facts.state = .empty
        if namesOtherEpoch && !isNew {
            // A repeated request, whose first answer was lost, names the previous epoch and gets the same answer.
            guard request.producerEpoch == facts.previousEpoch else {
                return refuse(request, answering: token, with: .producerFenced)
            }
        } else if TransactionFacts.isExhausted(epoch: facts.epoch) {
            guard let producerID = producerIDs.take() else { return waitForIDs(request, token: token) }
            facts.previousProducerID = facts.producerID
            facts.previousEpoch = previousEpoch
            facts.producerID = producerID
            facts.epoch = 0
        } else {
            facts.previousEpoch = previousEpoch
            facts.epoch = isNew ? 0 : facts.epoch + 1
        }
        let response = InitProducerIDResponse(producerID: facts.producerID, producerEpoch: facts.epoch)
        change(transaction, to: facts, then: .init(token: token, answer: .initProducerID(response)))
    }

    /// Aborts the open transaction with an epoch that no producer has. From the marker on, the producer
    /// that opened it is fenced.
    /// - Parameter token: the request of the next producer; nil after a timeout.
    func fence(_ transaction: Transaction, answering token: ReplyToken?) {
        var facts = transaction.facts
        facts.state = .prepareAbort
        facts.epoch = facts.epoch == .max ? .max : facts.epoch + 1
        facts.previousEpoch = TransactionFacts.noEpoch
        let response = InitProducerIDResponse(error: .concurrentTransactions)
        change(
            transaction, to: facts,
            then: token.map { .init(token: $0, answer: .initProducerID(response)) })
    }
}
