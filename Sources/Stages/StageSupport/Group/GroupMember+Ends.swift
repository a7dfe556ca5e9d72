internal import Kafka
internal import Lifecycle

extension GroupMember {
    /// Commits the ends that were read, so that no committed offset points to a marker that retention can delete. Twice
    /// a day it commits all offsets again, so that Kafka does not expire those of quiet topics.
    func commitEnds() throws {
        var offsets: [OffsetToCommit] = []
        var reached: [(partition: Int32, topic: Int, offset: Int64)] = []
        let renews = uncommittedEnds.isRenewalDue(at: time.now())
        for part in assignedPartitions.values where part.isServing {
            for topic in topics.indices {
                let place = topicPartition(of: topics[topic], number: part.partition)
                let committed = part.committedOffset(in: topic)
                if !part.hasUncommittedRecords(in: topic),
                    let end = uncommittedEnds.end(of: place, committed: committed)
                {
                    offsets.append(OffsetToCommit(partition: place, offset: end))
                    reached.append((part.partition, topic, end))
                } else if renews, let committed {
                    offsets.append(OffsetToCommit(partition: place, offset: committed))
                }
                uncommittedEnds.removeEnd(of: place)
            }
        }
        if renews { offsets += owner?.followedOffsets ?? [] }
        guard !offsets.isEmpty, let group = consumer.captureGroupMetadata(forEpoch: consumer.epoch) else {
            return
        }
        let outcome = try transaction.run(
            committing: offsets, for: group, onStep: { _ in }, send: { _, _ in true })
        guard outcome == .committed else {
            // The offsets are as good as before. Without a producer, only starting over makes another one.
            if !transaction.isReady { startOverLater() }
            return
        }
        for (partition, topic, offset) in reached {
            assignedPartitions[partition]?.markCommitted(below: offset, in: topic)
        }
    }
}
