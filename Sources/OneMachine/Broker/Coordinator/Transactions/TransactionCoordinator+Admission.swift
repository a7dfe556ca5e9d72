/// The check before an append within a transaction. A late batch, or a batch of a fenced producer, must
/// not open a transaction that would never end.
extension TransactionCoordinator {
    /// Returns the error if a batch for this partition must not be appended, else nil.
    package func refusal(of producer: Producer, partition: PartitionID) -> ErrorCode? {
        switch openTransaction(of: producer) {
        case .failure(let refusal): refusal.error
        case .success(let facts): facts.partitions.contains(partition) ? nil : .invalidTxnState
        }
    }

    /// Returns the error if the group coordinator must not take offsets of this group, else nil.
    package func refusal(of producer: Producer, group: String) -> ErrorCode? {
        switch openTransaction(of: producer) {
        case .failure(let refusal): refusal.error
        case .success(let facts): facts.groups.contains(group) ? nil : .invalidTxnState
        }
    }

    private func openTransaction(of producer: Producer) -> Result<TransactionFacts, Refusal> {
        guard let facts = transactions[producer.transactionalID]?.facts, facts.producerID == producer.id
        else { return .failure(Refusal(error: .invalidProducerIDMapping)) }
        guard facts.epoch == producer.epoch else { return .failure(Refusal(error: .invalidProducerEpoch)) }
        return facts.state == .ongoing ? .success(facts) : .failure(Refusal(error: .invalidTxnState))
    }
}
