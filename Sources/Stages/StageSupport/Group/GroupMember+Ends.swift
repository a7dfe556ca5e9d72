internal import Kafka
internal import Lifecycle

extension GroupMember {
    /// Commits the ends that were read, so that no committed offset points to a transaction marker that retention can
    /// delete (`UncommittedEnds`).
    ///
    /// Twice a day it also commits all other offsets again, so that Kafka does not expire the offsets of quiet topics.
    func commitEnds() throws {
        let (offsets, reachedEnds) = takeOffsetsToCommit()
        guard !offsets.isEmpty, let group = consumer.captureGroupMetadata(forEpoch: consumer.epoch) else {
            return
        }
        let outcome = try transaction.run(
            committing: offsets, for: group, onStep: { _ in }, send: { _, _ in true })
        guard outcome == .committed else {
            // The old offsets stay valid. If the producer is lost, only starting over makes another one.
            if !transaction.isReady { startOverLater() }
            return
        }
        for end in reachedEnds {
            assignedPartitions[end.partition]?.markCommitted(below: end.offset, in: end.topic)
        }
    }

    /// Takes the ends that were reached, and all other offsets if they must be renewed.
    private func takeOffsetsToCommit() -> (offsets: [OffsetToCommit], reachedEnds: [ReachedEnd]) {
        var offsets: [OffsetToCommit] = []
        var reachedEnds: [ReachedEnd] = []
        let mustRenew = uncommittedEnds.beginRenewalIfDue(at: time.now())
        for part in assignedPartitions.values where part.isServing {
            for topic in topics.indices {
                let topicPartition = topicPartition(of: topics[topic], number: part.partition)
                let committed = part.committedOffset(in: topic)
                if !part.hasUncommittedRecords(in: topic),
                    let end = uncommittedEnds.end(of: topicPartition, committed: committed)
                {
                    offsets.append(OffsetToCommit(partition: topicPartition, offset: end))
                    reachedEnds.append(ReachedEnd(partition: part.partition, topic: topic, offset: end))
                } else if mustRenew, let committed {
                    offsets.append(OffsetToCommit(partition: topicPartition, offset: committed))
                }
                uncommittedEnds.removeEnd(of: topicPartition)
            }
        }
        if mustRenew { offsets += owner?.followedOffsets ?? [] }
        return (offsets, reachedEnds)
    }
}

/// The end of a partition that a transaction commits.
private struct ReachedEnd {
    let partition: Int32
    /// The topic's index in the subscription.
    let topic: Int
    let offset: Int64
}
