internal import Kafka
package import Topics

/// The way in which a stage ended before an idle time.
package enum StageEnding: Sendable, CaseIterable {
    /// It stopped in order and committed the ends that it had read.
    case stopped
    /// It was killed right after a transaction. Its offsets point to the transaction's marker.
    case killed
}

extension TestBed {
    /// Leaves the topics as an idle time leaves them: retention has deleted every record and every marker.
    ///
    /// - Returns: false while the group still has members, which keep its offsets as they are.
    package func simulateIdleTime(after end: StageEnding, group: String, reading topics: [TopicName]) throws
        -> Bool
    {
        if end == .killed {
            var offsets: [TopicPartition: Int64] = [:]
            for topic in topics where topic.hasTransactions {
                for partition in 0..<Int32(layout.lanes) {
                    let topicPartition = TopicPartition(layout.name(of: topic), partition)
                    let high = try admin.watermarks(of: topicPartition).high
                    if high > 0 { offsets[topicPartition] = high - 1 }
                }
            }
            do throws(KafkaError) {
                if !offsets.isEmpty { try admin.setOffsets(of: layout.prefix + group, to: offsets) }
            } catch {
                if error.code == .unknownMember { return false }
                throw error
            }
        }
        try expireRecords(of: topics)
        return true
    }
}
