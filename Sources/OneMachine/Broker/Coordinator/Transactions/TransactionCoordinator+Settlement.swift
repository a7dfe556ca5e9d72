internal import Lifecycle

/// Changes of transactional ids: their appends, and the effects of appends and markers whose outcome is
/// known.
extension TransactionCoordinator {
    /// Appends a change to the log. It takes effect, and is answered, when it is durable.
    func change(
        _ transaction: Transaction, to facts: TransactionFacts,
        then pendingReply: TransactionContinuation.PendingReply?
    ) {
        persistChange(of: transaction, to: facts) {
            .changed(id: transaction.id, facts: $0, pendingReply)
        }
    }

    /// Appends the producer's decision to commit or to abort. EndTxn is answered after the first attempt at
    /// the markers.
    func decide(_ transaction: Transaction, to facts: TransactionFacts, answering token: ReplyToken) {
        persistChange(of: transaction, to: facts) { .decided(id: transaction.id, facts: $0, token) }
    }

    private func persistChange(
        of transaction: Transaction, to facts: TransactionFacts,
        then continuation: (TransactionFacts) -> TransactionContinuation
    ) {
        var facts = facts
        facts.updatedAt = now.wall
        transaction.isChanging = true
        persist([TransactionRecords.transaction(id: transaction.id, facts: facts)], then: continuation(facts))
    }

    /// Applies what waited for an append, and answers the clients.
    /// - Parameter durable: false if the append failed.
    func settleAppend(_ id: AppendID, durable: Bool) {
        guard let continuation = pendingAppends.removeValue(forKey: id) else { return }
        switch continuation {
        case .changed(let id, let facts, let pendingReply):
            if let pendingReply {
                let answer = pendingReply.answer
                reply(to: pendingReply.token, with: durable ? answer : answer.ifNotStored)
            }
            settleChange(of: id, to: facts, durable: durable)
        case .decided(let id, let facts, let token):
            if durable {
                transactions[id]?.pendingEnd = token
            } else {
                reply(to: token, with: .end(TransactionErrorResponse(error: .coordinatorNotAvailable)))
            }
            settleChange(of: id, to: facts, durable: durable)
        case .completed: break
        case .producerIDs(let end):
            producerIDs.finishExtension(to: durable ? end : nil)
            resumeWaiting(durable: durable)
        case .expired(let ids):
            for id in ids {
                transactions[id]?.isChanging = false
                guard durable else { continue }
                transactions[id] = nil
                deadlines.remove(id)
            }
        }
    }

    /// Puts a durable change into effect. A new transaction begins its timeout, and a decided one its markers.
    private func settleChange(of id: String, to facts: TransactionFacts, durable: Bool) {
        guard let transaction = transactions[id] else { return }
        transaction.isChanging = false
        guard durable else {
            // A failed first request leaves no transactional id behind.
            if transaction.facts.epoch == TransactionFacts.noEpoch { transactions[id] = nil }
            return
        }
        let hasBegun = transaction.facts.state != .ongoing && facts.state == .ongoing
        transaction.facts = facts
        if hasBegun {
            schedule(transaction, at: now.steady.advanced(byMilliseconds: Int(facts.timeoutMilliseconds)))
        }
        if facts.state.isPrepared {
            transaction.deadline = nil
            transaction.remainingMarkers = nil
            writeMarkers(of: transaction)
        }
    }

    /// Continues the requests that wait for producer ids.
    private func resumeWaiting(durable: Bool) {
        let waiting = waitingForIDs
        waitingForIDs.removeAll()
        for waitingRequest in waiting {
            if durable {
                initProducerID(waitingRequest.request, from: waitingRequest.token)
            } else {
                reply(
                    to: waitingRequest.token,
                    with: .initProducerID(InitProducerIDResponse(error: .coordinatorNotAvailable)))
            }
        }
    }

    /// Completes a transaction whose markers are all written. The answer does not wait for the record. If the record is
    /// lost, a restart writes the same markers again, which is harmless: no later record of the producer can be in the
    /// log then, because it would lie behind the lost one.
    func completeTransaction(markers id: MarkersID) {
        guard let transactionalID = transactionalIDsByMarkers.removeValue(forKey: id),
            let transaction = transactions[transactionalID], transaction.markersUnderWay == id
        else { return }
        transaction.markersUnderWay = nil
        transaction.remainingMarkers = nil
        transaction.facts.state =
            transaction.facts.state == .prepareCommit ? .completeCommit : .completeAbort
        transaction.facts.partitions.removeAll()
        transaction.facts.groups.removeAll()
        transaction.facts.startedAt = nil
        transaction.facts.updatedAt = now.wall
        persist(
            [TransactionRecords.transaction(id: transactionalID, facts: transaction.facts)], then: .completed)
        answerEnd(of: transaction)
    }

    /// Answers the waiting EndTxn request. It succeeds even if markers failed, because the decision is
    /// durable and the markers are tried again.
    private func answerEnd(of transaction: Transaction) {
        guard let token = transaction.pendingEnd else { return }
        transaction.pendingEnd = nil
        reply(to: token, with: .end(TransactionErrorResponse()))
    }

    /// Schedules another attempt at the markers that are not written.
    func retryMarkers(_ id: MarkersID, remaining: RemainingMarkers) {
        guard let transactionalID = transactionalIDsByMarkers.removeValue(forKey: id),
            let transaction = transactions[transactionalID], transaction.markersUnderWay == id
        else { return }
        transaction.markersUnderWay = nil
        transaction.remainingMarkers = remaining
        answerEnd(of: transaction)
        schedule(transaction, at: now.steady.advanced(byMilliseconds: settings.retryMilliseconds))
    }

    /// Handles the deadline of a transactional id: the timeout of an open transaction, or the next
    /// attempt at markers.
    func handleDeadline(of transaction: Transaction) {
        guard let deadline = transaction.deadline else { return }
        // The queue may have an earlier deadline than the present one.
        guard deadline <= now.steady else { return schedule(transaction, at: deadline) }
        transaction.deadline = nil
        if transaction.isChanging {
            return schedule(transaction, at: now.steady.advanced(byMilliseconds: settings.retryMilliseconds))
        }
        if transaction.facts.state == .ongoing {
            fence(transaction, answering: nil)
            // If the append fails, the transaction is still overdue.
            schedule(transaction, at: now.steady.advanced(byMilliseconds: settings.retryMilliseconds))
        } else if transaction.facts.state.isPrepared && transaction.markersUnderWay == nil {
            writeMarkers(of: transaction)
        }
    }
}
