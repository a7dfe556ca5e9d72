internal import HTTP2

/// The journal of a connection's requests. It gets the entry of an answer before the answer can leave, so that the entry
/// exists when the client reads the answer. `unsentAnswers` keeps the entry until it is known whether the answer was sent.
extension ServedConnection {
    /// Passes the entry of an answer to the journal, and keeps it until the whole answer was sent.
    /// - Parameter isQueued: whether the session has the answer. False if the stream has closed.
    func journalAnswer(_ reply: Reply, for exchange: Exchange, isDelivered: Bool, isQueued: Bool) {
        guard var entry = exchange.entry else { return }
        entry.outcome = .answered(status: reply.status, reason: reply.reason, isSent: false)
        entry.isDelivered = isDelivered
        simulator.journal?.willAnswer(&entry)
        // The entry of an answer that cannot be sent any more: this entry, if its stream has closed, or the entry of
        // a closed stream whose slot this stream uses again.
        let unsendable = isQueued ? unsentAnswers.add(entry, for: exchange.stream) : entry
        if let unsendable { finishEntry(unsendable, isSent: false, at: simulator.clock.now) }
    }

    /// Passes the outcome of a request without an answer to the journal.
    func journalUnanswered(
        _ exchange: Exchange, outcome: JournalEntry.Outcome, isDelivered: Bool = false
    ) {
        guard var entry = exchange.entry else { return }
        entry.outcome = outcome
        entry.isDelivered = isDelivered
        entry.endedAt = simulator.clock.now
        simulator.journal?.didEnd(entry)
    }

    /// Passes the outcome of an answer to the journal: sent completely, or lost.
    func finishEntry(_ entry: consuming JournalEntry, isSent: Bool, at time: Int64) {
        if isSent { entry.outcome.markSent() }
        entry.endedAt = time
        simulator.journal?.didEnd(entry)
    }

    /// Passes to the journal the entries of the answers that were sent, and of those whose streams have closed.
    /// - Parameter isUncertain: whether the connection ends within a frame. Then it is uncertain which answers
    ///   were sent completely.
    func journalSentAnswers(isUncertain: Bool) {
        guard unsentAnswers.count > 0 else { return }
        let time = simulator.clock.now
        session.takeSentResponses { stream in
            if let entry = unsentAnswers.take(for: stream) {
                finishEntry(entry, isSent: !isUncertain, at: time)
            }
        }
        for entry in unsentAnswers.takeClosed(isOpen: session.isOpen) {
            finishEntry(entry, isSent: false, at: time)
        }
    }
}
