internal import Kafka
package import Topics

/// The way in which a stage ended before an idle time.
package enum StageEnding: Sendable, CaseIterable {
    /// It stopped in order. Its committed offsets are the ends of the partitions.
    case stopped
    /// It was killed right after a transaction. Its committed offsets are those of the transaction's markers, one below
    /// the ends.
    case killed
}

extension TestBed {
    /// Leaves the topics as an idle time leaves them: retention has deleted every record and every marker.
    ///
    /// - Returns: False while the group still has members, because its offsets cannot be set then.
    package func simulateIdleTime(after ending: StageEnding, group: String, reading topics: [TopicName])
        throws -> Bool
    {
        if ending == .killed {
            let markers = try lastMarkers(of: topics)
            do throws(KafkaError) {
                if !markers.isEmpty { try admin.setOffsets(of: layout.prefix + group, to: markers) }
            } catch {
                if error.code == .unknownMember { return false }
                throw error
            }
        }
        try expireRecords(of: topics)
        return true
    }

    /// Whether a group has committed the ends of all partitions of some topics.
    package func areEndsCommitted(by group: String, of topics: [TopicName]) throws -> Bool {
        let partitions = topics.flatMap { topic in
            (0..<Int32(layout.partitionCount(of: topic))).map { TopicPartition(layout.name(of: topic), $0) }
        }
        return try admin.committedOffsets(by: layout.prefix + group, in: partitions).allSatisfy { committed in
            try committed.offset == admin.watermarks(of: committed.partition).high
        }
    }

    /// Returns the last offset of each partition that has records. In a topic with transactions it is a marker.
    private func lastMarkers(of topics: [TopicName]) throws -> [TopicPartition: Int64] {
        var offsets: [TopicPartition: Int64] = [:]
        for topic in topics where topic.hasTransactions {
            for partition in 0..<Int32(layout.lanes) {
                let topicPartition = TopicPartition(layout.name(of: topic), partition)
                let end = try admin.watermarks(of: topicPartition).high
                if end > 0 { offsets[topicPartition] = end - 1 }
            }
        }
        return offsets
    }
}
