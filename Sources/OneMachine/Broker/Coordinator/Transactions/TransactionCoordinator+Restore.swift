internal import Lifecycle
internal import Telemetry

/// Restores transactions from their topic, and expires unused transactional ids.
extension TransactionCoordinator {
    /// Restores one record. The caller calls it for each record in the order of the log, and then
    /// `finishRestoring`.
    package func restore(_ record: CoordinatorRecord) -> CoordinatorRecord.RestoreResult {
        do throws(WireError) {
            return try WireReader.read(record.key, encoding: .compact) { (key) throws(WireError) in
                switch try key.int16() {
                case TransactionRecords.transactionKind:
                    try self.restore(transaction: try key.string(), record.value)
                case TransactionRecords.producerIDsKind: try self.restoreProducerIDs(from: record.value)
                default: .unknownVersion
                }
            }
        } catch {
            return .malformed
        }
    }

    private func restore(
        transaction id: String, _ value: [UInt8]?
    ) throws(WireError) -> CoordinatorRecord.RestoreResult {
        guard let value else {
            transactions[id] = nil
            return .applied
        }
        guard let facts = try TransactionRecords.facts(from: value) else { return .unknownVersion }
        guard facts.producerID >= 0, facts.producerID <= ProducerIDAllocator.largest else {
            return .malformed
        }
        transactions[id] = Transaction(id: id, facts: facts)
        producerIDs.skip(past: facts.producerID)
        return .applied
    }

    private func restoreProducerIDs(from value: [UInt8]?) throws(WireError) -> CoordinatorRecord.RestoreResult
    {
        guard let value else { return .applied }
        return try WireReader.read(value, encoding: .compact) { (reader) throws(WireError) in
            guard try reader.int16() == TransactionRecords.formatVersion else { return .unknownVersion }
            let end = try reader.int64()
            guard end >= 0, end <= ProducerIDAllocator.largest else { return .malformed }
            self.producerIDs.restore(end: end)
            return .applied
        }
    }

    /// Ends the restoration: completes prepared transactions and gives open ones the rest of their
    /// timeout.
    package func finishRestoring(at now: ClockReading) -> [TransactionAction] {
        handleEvent(at: now) {
            for transaction in transactions.values.sorted(by: { $0.id < $1.id }) {
                let facts = transaction.facts
                if facts.state.isPrepared { writeMarkers(of: transaction) }
                guard facts.state == .ongoing else { continue }
                let timeout = Int64(facts.timeoutMilliseconds)
                let elapsed = now.expiry.milliseconds - (facts.startedAt ?? now.expiry).milliseconds
                // If the clock went back since the start, the transaction gets its whole timeout again.
                let remaining = min(max(timeout - elapsed, 0), timeout)
                schedule(transaction, at: now.steady.advanced(byMilliseconds: Int(remaining)))
            }
            nextExpirationCheck = now.steady.advanced(byMilliseconds: settings.idExpirationCheckMilliseconds)
        }
    }

    /// Forgets transactional ids without an open transaction that were not used for long.
    func expireIDs() {
        nextExpirationCheck = now.steady.advanced(byMilliseconds: settings.idExpirationCheckMilliseconds)
        let newestExpired = now.expiry.milliseconds - settings.idExpirationMilliseconds
        let unused = transactions.values.filter { transaction in
            let facts = transaction.facts
            let isAtRest = facts.state != .ongoing && !facts.state.isPrepared && !transaction.isChanging
            return isAtRest && facts.updatedAt.milliseconds <= newestExpired
        }.map(\.id).sorted()
        guard !unused.isEmpty else { return }
        for id in unused { transactions[id]?.isChanging = true }
        persist(unused.map(TransactionRecords.transactionRemoved), then: .expired(ids: unused))
    }
}
