/// The handler of ListOffsets, OffsetForLeaderEpoch and DeleteRecords.
struct OffsetsHandler {
    unowned let node: BrokerNode

    func handle(_ request: ListOffsetsRequest, for exchange: RequestExchange) {
        let topics = request.topics.map { topic in
            TopicPartitions(
                topic: topic.topic,
                partitions: topic.partitions.map {
                    find($0, in: topic.topic, committed: request.readsCommitted)
                })
        }
        let response = ListOffsetsResponse(topics: topics)
        exchange.answer { response.write(to: &$0, version: exchange.version) }
    }

    /// Returns the offset for one partition of ListOffsets.
    private func find(
        _ requested: ListOffsetsRequest.Partition, in topic: String, committed: Bool
    ) -> ListOffsetsResponse.Partition {
        var answer = ListOffsetsResponse.Partition(index: requested.index)
        guard let log = node.topics.log(topic: topic, partition: requested.index) else {
            answer.error = .unknownTopicOrPartition
            return answer
        }
        if let error = LeaderEpoch.error(for: requested.leaderEpoch) {
            answer.error = error
            return answer
        }
        if let error = node.refusal(byLeaderOf: topic, partition: requested.index) {
            answer.error = error
            return answer
        }
        let end = committed ? log.lastStableOffset : log.highWatermark
        switch requested.timestamp {
        case ListOffsetsRequest.earliest: answer.offset = log.logStartOffset
        case ListOffsetsRequest.latest: answer.offset = end
        default: findTime(requested.timestamp, in: log, below: end, answer: &answer)
        }
        return answer
    }

    /// Finds the first record at or after a time, or the first one with the largest time, if it is below `end`.
    private func findTime(
        _ timestamp: Int64, in log: PartitionLog, below end: Int64,
        answer: inout ListOffsetsResponse.Partition
    ) {
        guard timestamp >= 0 || timestamp == ListOffsetsRequest.maxTimestamp else {
            answer.error = .invalidRequest
            return
        }
        do throws(LogError) {
            let record =
                timestamp == ListOffsetsRequest.maxTimestamp
                ? try log.firstRecordWithLargestTimestamp(below: end)
                : try log.firstRecord(atOrAfter: timestamp, below: end)
            guard let record else { return }
            answer.offset = record.offset
            answer.timestamp = record.timestamp
        } catch {
            answer.error = error.code
        }
    }

    func handle(_ request: OffsetForLeaderEpochRequest, for exchange: RequestExchange) {
        let topics = request.topics.map { topic in
            TopicPartitions(
                topic: topic.topic, partitions: topic.partitions.map { epochEnd(of: $0, in: topic.topic) })
        }
        let response = OffsetForLeaderEpochResponse(topics: topics)
        exchange.answer { response.write(to: &$0, version: exchange.version) }
    }

    /// Returns the end of an epoch. The current epoch is the only one, and ends at the end of the log.
    private func epochEnd(
        of requested: OffsetForLeaderEpochRequest.Partition, in topic: String
    ) -> OffsetForLeaderEpochResponse.Partition {
        var answer = OffsetForLeaderEpochResponse.Partition(index: requested.index)
        guard let log = node.topics.log(topic: topic, partition: requested.index) else {
            answer.error = .unknownTopicOrPartition
            return answer
        }
        if let error = LeaderEpoch.error(for: requested.currentLeaderEpoch) {
            answer.error = error
        } else if requested.leaderEpoch == Node.leaderEpoch {
            answer.leaderEpoch = Node.leaderEpoch
            answer.endOffset = log.endOffset
        }
        return answer
    }

    func handle(_ request: DeleteRecordsRequest, for exchange: RequestExchange) {
        let topics = request.topics.map { topic in
            TopicPartitions(
                topic: topic.topic,
                partitions: topic.partitions.map { deleteRecords(of: $0, in: topic.topic) })
        }
        exchange.answer { DeleteRecordsResponse(topics: topics).write(to: &$0) }
    }

    private func deleteRecords(
        of requested: DeleteRecordsRequest.Partition, in topic: String
    ) -> DeleteRecordsResponse.Partition {
        var answer = DeleteRecordsResponse.Partition(index: requested.index)
        guard let log = node.topics.log(topic: topic, partition: requested.index) else {
            answer.error = .unknownTopicOrPartition
            return answer
        }
        // A compacted topic keeps the newest record of each key at any offset, so a prefix cannot go.
        guard log.settings.isDeleted else {
            answer.error = .policyViolation
            return answer
        }
        do throws(LogError) {
            let isAll = requested.offset == DeleteRecordsRequest.highWatermark
            try log.deleteRecords(before: isAll ? log.highWatermark : requested.offset)
            answer.logStartOffset = log.logStartOffset
        } catch {
            answer.error = error.code
        }
        return answer
    }
}

extension TopicStore {
    func log(topic: String, partition: Int32) -> PartitionLog? {
        self.topic(named: topic)?.partition(at: partition)
    }
}
