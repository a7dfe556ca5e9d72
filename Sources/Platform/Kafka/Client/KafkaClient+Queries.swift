internal import CRdKafka

/// The queries that producers, consumers and the admin client share. Each call waits for the cluster within
/// its limit, also for conditions that pass by themselves, such as the election of a leader.
extension KafkaClient {
    func watermarks(of partition: TopicPartition, until deadline: Deadline) throws(KafkaError) -> Watermarks {
        guard let watermarks = try watermarks(of: [partition], until: deadline)[partition] else {
            preconditionFailure("the watermarks of \(partition) are neither an answer nor an error")
        }
        return watermarks
    }

    /// Returns the watermarks of all partitions, with one request to each leader for each end.
    ///
    /// The library's own call for watermarks does not keep its limit: it waits for a dead leader until that returns.
    func watermarks(
        of partitions: [TopicPartition], until deadline: Deadline
    ) throws(KafkaError) -> [TopicPartition: Watermarks] {
        let lows = try offsets(
            for: partitions.map { ($0, milliseconds: Int64(RD_KAFKA_OFFSET_BEGINNING)) }, until: deadline)
        let highs = try offsets(
            for: partitions.map { ($0, milliseconds: Int64(RD_KAFKA_OFFSET_END)) }, until: deadline)
        var watermarks: [TopicPartition: Watermarks] = [:]
        for partition in partitions {
            // The answers lack the partition, or give no offset for it.
            guard let low = lows[partition] ?? nil, let high = highs[partition] ?? nil else {
                throw KafkaError(action: "read the watermarks of \(partition)", code: .offsetNotAvailable)
            }
            watermarks[partition] = Watermarks(low: low, high: high)
        }
        return watermarks
    }

    /// Refreshes the library's metadata of these topics. Until then the library answers from its cache. This
    /// may hold errors from the time right after the start.
    private func refreshMetadata(of topics: Set<String>, until deadline: Deadline) {
        for name in topics {
            guard let topic = try? Topic(name: name, client: self) else { continue }
            _ = try? metadata(of: .one(topic), until: deadline)
        }
    }

    /// Returns the cluster's id, or nil if no broker answers in time.
    func clusterID(until deadline: Deadline) -> String? {
        // A query of the id alone opens no connection: it waits up to a second until the library connects by
        // itself. A metadata request, even for no topic, makes the library connect at once.
        _ = try? metadata(of: .known, until: deadline)
        guard let text = unsafe rd_kafka_clusterid(pointer, max(1, deadline.libraryTimeoutMilliseconds))
        else { return nil }
        defer { unsafe rd_kafka_mem_free(pointer, text) }
        return unsafe String(cString: text)
    }

    /// Returns the cluster's description of one topic.
    func describe(_ topic: Topic, until deadline: Deadline) throws(KafkaError) -> TopicDescription {
        try RetryPolicy.retry(until: deadline) { () throws(KafkaError) in
            let topics = try metadata(of: .one(topic), until: deadline)
            guard let description = topics.first else {
                throw KafkaError(action: "describe topic \(topic.name)", code: .unknownTopic)
            }
            guard description.code == .none else {
                throw KafkaError(action: "describe topic \(topic.name)", code: description.code)
            }
            return description
        }
    }

    /// Returns the cluster's descriptions of all topics.
    func topics(until deadline: Deadline) throws(KafkaError) -> [TopicDescription] {
        try RetryPolicy.retry(until: deadline) { () throws(KafkaError) in
            try metadata(of: .all, until: deadline)
        }
    }

    private enum MetadataScope {
        case all
        /// The topics for which this client has a handle, possibly none.
        case known
        case one(Topic)
    }

    private func metadata(of scope: MetadataScope, until deadline: Deadline) throws(KafkaError)
        -> [TopicDescription]
    {
        let (allTopics, onlyTopic): (Int32, OpaquePointer?) =
            switch scope {
            case .all: (1, nil)
            case .known: (0, nil)
            case .one(let topic): unsafe (0, topic.pointer)
            }
        var answer: UnsafePointer<rd_kafka_metadata>?
        let code = unsafe KafkaErrorCode(
            rd_kafka_metadata(
                pointer, allTopics, onlyTopic, &answer, max(1, deadline.libraryTimeoutMilliseconds)))
        guard code == .none, let metadata = unsafe answer else {
            throw KafkaError(action: "describe topics", code: code)
        }
        defer { unsafe rd_kafka_metadata_destroy(metadata) }
        return unsafe (0..<Int(metadata.pointee.topic_cnt)).map { index in
            let topic = unsafe metadata.pointee.topics[index]
            return unsafe TopicDescription(
                name: String(cString: topic.topic),
                partitions: (0..<Int(topic.partition_cnt)).map { unsafe topic.partitions[$0].id }.sorted(),
                leaders: Dictionary(
                    (0..<Int(topic.partition_cnt)).map { index in
                        unsafe (topic.partitions[index].id, topic.partitions[index].leader)
                    }, uniquingKeysWith: { first, _ in first }),
                replicas: (0..<Int(topic.partition_cnt)).map { unsafe Int(topic.partitions[$0].replica_cnt) }
                    .min() ?? 0,
                code: KafkaErrorCode(topic.err))
        }
    }

    /// Returns the offsets that this consumer's group has committed. They are stable: the call waits for
    /// transactions that hold offsets of these partitions, unless the consumer reads open transactions.
    func committedOffsets(
        of partitions: [TopicPartition], until deadline: Deadline
    ) throws(KafkaError) -> [CommittedOffset] {
        try RetryPolicy.retry(until: deadline) { () throws(KafkaError) in
            let list = PartitionList(partitions)
            let code = unsafe KafkaErrorCode(
                rd_kafka_committed(pointer, list.pointer, max(1, deadline.libraryTimeoutMilliseconds)))
            guard code == .none else { throw KafkaError(action: "read the committed offsets", code: code) }
            if let first = list.firstError {
                throw KafkaError(
                    action: "read the committed offset of \(first.partition)", code: first.code)
            }
            return list.committedOffsets
        }
    }

    /// Returns the watermarks in the answer to the last fetch, or nil before the first one. Sends no request.
    func knownWatermarks(of partition: TopicPartition) -> Watermarks? {
        var low: Int64 = 0
        var high: Int64 = 0
        let code = unsafe KafkaErrorCode(
            rd_kafka_get_watermark_offsets(pointer, partition.topic, partition.partition, &low, &high))
        return code == .none && high >= 0 ? Watermarks(low: max(0, low), high: high) : nil
    }

    /// Returns the offset of the first record at or after each time, or nil without such a record. In place
    /// of a time, `RD_KAFKA_OFFSET_BEGINNING` and `RD_KAFKA_OFFSET_END` give the bounds of the partition.
    func offsets(
        for times: [(TopicPartition, milliseconds: Int64)], until deadline: Deadline
    ) throws(KafkaError) -> [TopicPartition: Int64?] {
        var isRepetition = false
        var unanswered = times
        var requestSize = max(1, times.count)
        var offsets: [TopicPartition: Int64?] = [:]
        return try RetryPolicy.retry(until: deadline) { () throws(KafkaError) in
            if isRepetition { refreshMetadata(of: Set(unanswered.map(\.0.topic)), until: deadline) }
            isRepetition = true
            var failure: KafkaError?
            for start in stride(from: 0, to: unanswered.count, by: requestSize) {
                do throws(KafkaError) {
                    let request = unanswered[start..<min(start + requestSize, unanswered.count)]
                    try lookUpOffsets(for: request, into: &offsets, until: deadline)
                } catch {
                    failure = failure ?? error
                }
            }
            guard let failure else { return offsets }
            // One refused partition fails its whole request. The next attempt asks for fewer partitions at a time, and
            // only for those without an answer.
            unanswered.removeAll { offsets.keys.contains($0.0) }
            requestSize = max(1, requestSize / 2)
            throw failure
        }
    }

    private func lookUpOffsets(
        for times: ArraySlice<(TopicPartition, milliseconds: Int64)>,
        into offsets: inout [TopicPartition: Int64?],
        until deadline: Deadline
    ) throws(KafkaError) {
        let list = PartitionList(times.map { (key: $0.0, value: $0.milliseconds) })
        let code = unsafe KafkaErrorCode(
            rd_kafka_offsets_for_times(pointer, list.pointer, max(1, deadline.libraryTimeoutMilliseconds)))
        guard code == .none else { throw KafkaError(action: "look up offsets by time", code: code) }
        if let first = list.firstError {
            throw KafkaError(action: "look up offsets by time in \(first.partition)", code: first.code)
        }
        for index in 0..<list.count {
            let offset = list.offset(at: index)
            // `.some`, because assigning nil would remove the key.
            offsets[list.partition(at: index)] = .some(offset >= 0 ? offset : nil)
        }
    }
}
