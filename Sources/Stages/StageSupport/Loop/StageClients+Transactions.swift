package import Kafka
internal import Topics

// The transactions of a loop. If one fails, the loop starts over.

extension StageClients {
    /// Runs one transaction. The group's metadata is captured before its first record. A later capture could belong to
    /// a newer membership, and then old work would be committed under it.
    ///
    /// - Parameters:
    ///   - offsets: the offsets that the transaction commits for the group.
    ///   - epoch: the epoch of the assignment under which the records were read.
    ///   - meanwhile: does a piece of other work while the cluster stores the records. Returns false if none is left.
    ///   - send: queues the records. Returns false if the producer refused one.
    /// - Returns: false if the transaction is not committed. Then the loop starts over.
    package func commit(
        _ offsets: [OffsetToCommit], readIn epoch: Int, meanwhile: () throws -> Bool = { false },
        send: (TransactionalProducer, [Topic]) -> Bool
    ) throws -> Bool {
        guard let group = consumer.captureGroupMetadata(forEpoch: epoch) else {
            member.startOverLater(logging: "the partitions were reassigned")
            return false
        }
        func onTransactionStep(_ step: TransactionRunner.TransactionStep) {
            onStep(step == .begun ? .transactionBegun : .offsetsSent)
        }
        let outcome = try transaction.run(
            committing: offsets, for: group, onStep: onTransactionStep, meanwhile: meanwhile, send: send)
        switch outcome {
        case .committed:
            onStep(.committed)
            for offset in offsets {
                sentDeadLetters.recordCommit(of: offset.partition, below: offset.offset)
            }
            return true
        case .startOver: break
        case .unavailable(let outputPartitions):
            let partitions = Set(offsets.map(\.partition.partition))
            // If this transaction had the work of several partitions, each of the next ones takes only one
            // partition.
            onePartitionLimit.begin(at: time.now())
            if partitions.count == 1, let partition = partitions.first {
                member.setAside(partition, until: outputPartitions)
            }
        }
        member.startOverLater()
        return false
    }

    /// Whether a transaction takes the work of only one partition, because a transaction has just failed at a partition
    /// that takes no records. Its next failure then tells which work has to wait.
    package var isLimitedToOnePartition: Bool {
        !transaction.unavailablePartitions.isEmpty && onePartitionLimit.holds(at: time.now())
    }

    /// Returns the partitions whose work the next transaction takes: usually all, or the next one under the
    /// limit.
    ///
    /// - Parameter partitions: those with work, in ascending order.
    package func partitionsOfNextTransaction(from partitions: [Int32]) -> [Int32] {
        guard isLimitedToOnePartition, partitions.count > 1 else { return partitions }
        return [onePartitionLimit.nextPartition(of: partitions)]
    }

    /// Commits output that no record of the batch has caused, such as fired timers. The transaction also commits the
    /// unchanged offsets of its partitions, which proves that this process still owns them.
    package func commitOutput(
        of partitions: some Sequence<Int32>, send: (TransactionalProducer, [Topic]) -> Bool
    ) throws -> Bool {
        var offsets: [OffsetToCommit] = []
        for part in partitions.compactMap({ member.assignedPartitions[$0] }) {
            for topic in configuration.topics.indices {
                guard let offset = part.committedOffset(in: topic) else { continue }
                offsets.append(
                    OffsetToCommit(
                        partition: topicPartition(of: configuration.topics[topic], number: part.partition),
                        offset: offset))
            }
        }
        return try commit(offsets, readIn: consumer.epoch, send: send)
    }
}
