/// InitProducerId: a new producer with a transactional id fences the earlier one. After an error, a
/// producer moves itself to the next epoch.
extension TransactionCoordinator {
    func initProducerID(_ request: InitProducerIDRequest, from token: ReplyToken) {
        guard let id = request.transactionalID else {
            guard let producerID = producerIDs.take() else { return waitForIDs(request, token: token) }
            return reply(
                to: token,
                with: .initProducerID(InitProducerIDResponse(producerID: producerID, producerEpoch: 0)))
        }
        guard !id.isEmpty, (request.producerID == -1) == (request.producerEpoch == -1) else {
            return refuse(request, answering: token, with: .invalidRequest)
        }
        guard request.timeoutMilliseconds > 0,
            Int(request.timeoutMilliseconds) <= settings.timeoutMaximumMilliseconds
        else { return refuse(request, answering: token, with: .invalidTransactionTimeout) }
        if let transaction = transactions[id] {
            return initialise(transaction, as: request, answering: token)
        }
        guard transactions.count < settings.transactionalIDsMax else {
            return refuse(request, answering: token, with: .policyViolation)
        }
        guard let producerID = producerIDs.take() else { return waitForIDs(request, token: token) }
        let facts = TransactionFacts(
            producerID: producerID, timeoutMilliseconds: request.timeoutMilliseconds, updatedAt: now.wall)
        let transaction = Transaction(id: id, facts: facts)
        transactions[id] = transaction
        initialise(transaction, as: request, answering: token)
    }

    private func waitForIDs(_ request: InitProducerIDRequest, token: ReplyToken) {
        waitingForIDs.append((request, token))
        guard let end = producerIDs.extend(by: settings.producerIDBlock) else { return }
        persist([TransactionRecords.producerIDs(end: end)], then: .producerIDs(end: end))
    }

    private func refuse(_ request: InitProducerIDRequest, answering token: ReplyToken, with error: ErrorCode)
    {
        let told: ErrorCode =
            error == .producerFenced && request.version < 4 ? .invalidProducerEpoch : error
        reply(to: token, with: .initProducerID(InitProducerIDResponse(error: told)))
    }

    private func initialise(
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

    /// A producer that names itself must be the owner, or the owner before its epochs were exhausted, or
    /// there must be no owner.
    private func isOwner(_ request: InitProducerIDRequest, of facts: TransactionFacts) -> Bool {
        if request.producerID == -1 || facts.epoch == TransactionFacts.noEpoch { return true }
        if request.producerID == facts.producerID { return true }
        return request.producerID == facts.lastProducerID
            && TransactionFacts.isExhausted(epoch: request.producerEpoch)
    }

    /// Gives the next epoch, or the next producer id if the epochs are exhausted.
    private func advanceEpoch(
        of transaction: Transaction, for request: InitProducerIDRequest, answering token: ReplyToken
    ) {
        var facts = transaction.facts
        let namesItself = request.producerID != -1
        facts.timeoutMilliseconds = request.timeoutMilliseconds
        facts.state = .empty
        if TransactionFacts.isExhausted(epoch: facts.epoch)
            && (!namesItself || request.producerEpoch == facts.epoch)
        {
            guard let producerID = producerIDs.take() else { return waitForIDs(request, token: token) }
            facts.lastProducerID = facts.producerID
            facts.lastEpoch = namesItself ? facts.epoch : TransactionFacts.noEpoch
            facts.producerID = producerID
            facts.epoch = 0
        } else if namesItself && facts.epoch != TransactionFacts.noEpoch
            && request.producerEpoch != facts.epoch
        {
            // An earlier request succeeded and its answer was lost, so the same answer follows.
            guard request.producerEpoch == facts.lastEpoch else {
                return refuse(request, answering: token, with: .producerFenced)
            }
        } else {
            facts.lastEpoch = namesItself ? facts.epoch : TransactionFacts.noEpoch
            facts.epoch = facts.epoch == TransactionFacts.noEpoch ? 0 : facts.epoch + 1
        }
        change(
            transaction, to: facts, answering: token,
            with: .initProducerID(
                InitProducerIDResponse(producerID: facts.producerID, producerEpoch: facts.epoch)))
    }

    /// Aborts the open transaction with an epoch that no producer has. From the marker on, the producer
    /// that opened it is fenced.
    func fence(_ transaction: Transaction, answering token: ReplyToken?) {
        var facts = transaction.facts
        facts.state = .prepareAbort
        facts.epoch = facts.epoch == .max ? .max : facts.epoch + 1
        facts.lastEpoch = TransactionFacts.noEpoch
        change(
            transaction, to: facts, answering: token,
            with: .initProducerID(InitProducerIDResponse(error: .concurrentTransactions)))
    }
}
