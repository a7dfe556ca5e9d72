/// The handler of requests about offsets: list them, find them by time or epoch, and delete records.
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

    private func find(
        _ wanted: ListOffsetsRequest.Partition, in topic: String, committed: Bool
    ) -> ListOffsetsResponse.Partition {
        var found = ListOffsetsResponse.Partition(index: wanted.index)
        guard let log = node.topics.log(topic: topic, partition: wanted.index) else {
            found.error = .unknownTopicOrPartition
            return found
        }
        if let error = LeaderEpoch.error(for: wanted.leaderEpoch) {
            found.error = error
            return found
        }
        if let error = node.refusal(byLeaderOf: topic, partition: wanted.index) {
            found.error = error
            return found
        }
        let end = committed ? log.lastStableOffset : log.highWatermark
        switch wanted.timestamp {
        case ListOffsetsRequest.earliest: found.offset = log.logStartOffset
        case ListOffsetsRequest.latest: found.offset = end
        default: findTime(wanted.timestamp, in: log, below: end, result: &found)
        }
        return found
    }

    private func findTime(
        _ timestamp: Int64, in log: PartitionLog, below end: Int64,
        result found: inout ListOffsetsResponse.Partition
    ) {
        guard timestamp >= 0 || timestamp == ListOffsetsRequest.maxTimestamp else {
            found.error = .invalidRequest
            return
        }
        do throws(LogError) {
            let record =
                timestamp == ListOffsetsRequest.maxTimestamp
                ? try log.offsetOfMaxTimestamp() : try log.offset(forTime: timestamp)
            guard let record, record.offset < end else { return }
            found.offset = record.offset
            found.timestamp = record.timestamp
        } catch {
            found.error = error.code
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

    func handle(_ request: DeleteRecordsRequest, for exchange: RequestExchange) {
        let topics = request.topics.map { topic in
            TopicPartitions(
                topic: topic.topic,
                partitions: topic.partitions.map { deleteRecords(of: $0, in: topic.topic) })
        }
        exchange.answer { DeleteRecordsResponse(topics: topics).write(to: &$0) }
    }

    private func deleteRecords(
        of wanted: DeleteRecordsRequest.Partition, in topic: String
    ) -> DeleteRecordsResponse.Partition {
        var answer = DeleteRecordsResponse.Partition(index: wanted.index)
        guard let log = node.topics.log(topic: topic, partition: wanted.index) else {
            answer.error = .unknownTopicOrPartition
            return answer
        }
        // A compacted topic keeps the newest record of each key at any offset, so a prefix cannot go.
        guard log.settings.isDeleted else {
            answer.error = .policyViolation
            return answer
        }
        do throws(LogError) {
            try log.deleteRecords(before: wanted.offset == -1 ? log.highWatermark : wanted.offset)
            answer.logStartOffset = log.logStartOffset
        } catch {
            answer.error = error.code
        }
        return answer
    }

    private func epochEnd(
        of wanted: OffsetForLeaderEpochRequest.Partition, in topic: String
    ) -> OffsetForLeaderEpochResponse.Partition {
        var found = OffsetForLeaderEpochResponse.Partition(index: wanted.index)
        guard let log = node.topics.log(topic: topic, partition: wanted.index) else {
            found.error = .unknownTopicOrPartition
            return found
        }
        if let error = LeaderEpoch.error(for: wanted.currentLeaderEpoch) {
            found.error = error
        } else if wanted.leaderEpoch == Node.leaderEpoch {
            found.leaderEpoch = Node.leaderEpoch
            found.endOffset = log.endOffset
        }
        return found
    }
}

extension TopicStore {
    func log(topic: String, partition: Int32) -> PartitionLog? {
        self.topic(named: topic)?.partition(at: partition)
    }
}
