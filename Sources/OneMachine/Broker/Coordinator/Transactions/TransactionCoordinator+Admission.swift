/// The check before an append within a transaction. A late batch, or a batch of a fenced producer, must
/// not open a transaction that would never end.
extension TransactionCoordinator {
    /// Returns the error if a batch for this partition must not be appended, else nil.
    package func refusal(of producer: RequestingProducer, partition: PartitionID) -> ErrorCode? {
        switch openTransaction(of: producer) {
        case .failure(let error): error
        case .success(let facts): facts.partitions.contains(partition) ? nil : .invalidTxnState
        }
    }

    /// Returns the error if the group coordinator must not take offsets of this group, else nil.
    package func refusal(of producer: RequestingProducer, group: String) -> ErrorCode? {
        switch openTransaction(of: producer) {
        case .failure(let error): error
        case .success(let facts): facts.groups.contains(group) ? nil : .invalidTxnState
        }
    }

    private func openTransaction(of producer: RequestingProducer) -> Result<TransactionFacts, ErrorCode> {
        guard let facts = transactions[producer.transactionalID]?.facts, facts.producerID == producer.id
        else { return .failure(.invalidProducerIDMapping) }
        guard facts.epoch == producer.epoch else { return .failure(.invalidProducerEpoch) }
        return facts.state == .ongoing ? .success(facts) : .failure(.invalidTxnState)
    }
}
