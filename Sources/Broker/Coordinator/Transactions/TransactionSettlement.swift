internal import Lifecycle

/// The outcome of appends and markers.
extension TransactionCoordinator {
    /// Sends a change to the log; it holds, and is answered, when the log has it.
    func change(
        _ transaction: Transaction, to facts: TransactionFacts, answering token: ReplyToken?,
        with answer: TransactionAnswer?
    ) {
        send(transaction, of: facts) { .changed(id: transaction.id, $0, token, answer) }
    }

    func decide(_ transaction: Transaction, to facts: TransactionFacts, answering token: ReplyToken) {
        send(transaction, of: facts) { .decided(id: transaction.id, $0, token) }
    }

    private func send(
        _ transaction: Transaction, of facts: TransactionFacts,
        then continuation: (TransactionFacts) -> TransactionContinuation
    ) {
        var facts = facts
        facts.updatedAt = now.wall
        transaction.isChanging = true
        persist([TransactionRecords.transaction(transaction.id, facts)], then: continuation(facts))
    }

    func settle(_ id: PersistID, durable: Bool) {
        guard let continuation = waiting.removeValue(forKey: id) else { return }
        switch continuation {
        case .changed(let id, let facts, let token, let answer):
            if let token, let answer { reply(token, durable ? answer : answer.unavailable) }
            settleChange(of: id, to: facts, durable: durable)
        case .decided(let id, let facts, let token):
            if durable {
                transactions[id]?.ending = token
            } else {
                reply(token, .end(TransactionResponse(error: .coordinatorNotAvailable)))
            }
            settleChange(of: id, to: facts, durable: durable)
        case .completed: break
        case .producerIDs(let end):
            producerIDs.extended(to: durable ? end : nil)
            resumeWaiting(durable)
        case .expired(let ids):
            for id in ids {
                transactions[id]?.isChanging = false
                guard durable else { continue }
                transactions[id] = nil
                deadlines.forget(id)
            }
        }
    }

    private func settleChange(of id: String, to facts: TransactionFacts, durable: Bool) {
        guard let transaction = transactions[id] else { return }
        transaction.isChanging = false
        guard durable else {
            // It never was: a first request that failed leaves nothing behind.
            if transaction.facts.epoch == TransactionFacts.noEpoch { transactions[id] = nil }
            return
        }
        let began = transaction.facts.state != .ongoing && facts.state == .ongoing
        transaction.facts = facts
        if began {
            schedule(transaction, at: now.steady.advanced(byMilliseconds: Int(facts.timeoutMilliseconds)))
        }
        if facts.state.isPrepared {
            transaction.deadline = nil
            transaction.forgetAttempts()
            writeMarkers(transaction)
        }
    }

    private func resumeWaiting(_ durable: Bool) {
        let resumed = waitingForIDs
        waitingForIDs.removeAll()
        for (request, token) in resumed {
            if durable {
                initialise(request, from: token)
            } else {
                reply(token, .initProducerID(InitProducerIDResponse(error: .coordinatorNotAvailable)))
            }
        }
    }

    /// Every partition and group has its marker: the transaction is over. Its record needs nobody's
    /// wait: without it a restart writes the same markers again, and the log keeps it before whatever
    /// the producer does next.
    func complete(_ id: MarkersID) {
        guard let name = marking.removeValue(forKey: id), let transaction = transactions[name],
            transaction.markers == id
        else { return }
        transaction.markers = nil
        transaction.forgetAttempts()
        transaction.facts.state =
            transaction.facts.state == .prepareCommit ? .completeCommit : .completeAbort
        transaction.facts.partitions.removeAll()
        transaction.facts.groups.removeAll()
        transaction.facts.startedAt = nil
        transaction.facts.updatedAt = now.wall
        persist([TransactionRecords.transaction(name, transaction.facts)], then: .completed)
        answerEnd(transaction)
    }

    /// The decision stands whatever becomes of the markers, and that is what the producer asked.
    private func answerEnd(_ transaction: Transaction) {
        guard let token = transaction.ending else { return }
        transaction.ending = nil
        reply(token, .end(TransactionResponse()))
    }

    func retryMarkers(_ id: MarkersID, _ left: MarkersLeft) {
        guard let name = marking.removeValue(forKey: id), let transaction = transactions[name],
            transaction.markers == id
        else { return }
        transaction.markers = nil
        transaction.left = left
        transaction.failedAttempts += 1
        answerEnd(transaction)
        let wait = settings.markerRetryMilliseconds(failedAttempts: transaction.failedAttempts)
        schedule(transaction, at: now.steady.advanced(byMilliseconds: wait))
    }

    /// The deadline of a transactional id: an open transaction has run out of time, or markers are
    /// due again.
    func wake(_ transaction: Transaction) {
        guard let deadline = transaction.deadline else { return }
        guard deadline <= now.steady else { return schedule(transaction, at: deadline) }
        transaction.deadline = nil
        if transaction.isChanging {
            return schedule(transaction, at: now.steady.advanced(byMilliseconds: settings.retryMilliseconds))
        }
        if transaction.facts.state == .ongoing {
            fence(transaction, nil)
            // Should the append fail, the time is still over.
            schedule(transaction, at: now.steady.advanced(byMilliseconds: settings.retryMilliseconds))
        } else if transaction.facts.state.isPrepared && transaction.markers == nil {
            writeMarkers(transaction)
        }
    }
}
