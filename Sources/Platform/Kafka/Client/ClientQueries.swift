internal import CRdKafka

/// The questions that producers, consumers and the admin share. Each call waits for the cluster within its
/// limit, also for conditions that pass by themselves, such as the election of a leader.
extension Client {
    func watermarks(_ partition: TopicPartition, _ deadline: Deadline) throws(KafkaError) -> Watermarks {
        var mustLookAgain = false
        return try Patience.ask(until: deadline) { () throws(KafkaError) in
            if mustLookAgain { refresh([partition.topic], deadline) }
            mustLookAgain = true
            var low: Int64 = 0
            var high: Int64 = 0
            let code = unsafe ErrorCode(
                rd_kafka_query_watermark_offsets(
                    pointer, partition.topic, partition.partition, &low, &high, max(1, deadline.forCall)))
            guard code == .none else { throw KafkaError("ask for the ends of \(partition)", code) }
            return Watermarks(low: low, high: high)
        }
    }

    /// Refreshes the library's metadata of these topics. Until then it answers from its cache, including
    /// errors from right after the start.
    private func refresh(_ topics: Set<String>, _ deadline: Deadline) {
        for name in topics {
            guard let topic = try? Topic(name, of: self) else { continue }
            _ = try? metadata(of: .one(topic), deadline)
        }
    }

    /// Returns the cluster's id, or nil if no broker answers in time.
    func clusterID(_ deadline: Deadline) -> String? {
        // A question for the id alone opens no connection: it waits up to a second until the library connects
        // by itself. A metadata request, even for no topic, makes it connect at once.
        _ = try? metadata(of: .known, deadline)
        guard let text = unsafe rd_kafka_clusterid(pointer, max(1, deadline.forCall)) else { return nil }
        defer { unsafe rd_kafka_mem_free(pointer, text) }
        return unsafe String(cString: text)
    }

    /// Returns the cluster's description of one topic.
    func describe(_ topic: Topic, _ deadline: Deadline) throws(KafkaError) -> TopicDescription {
        try Patience.ask(until: deadline) { () throws(KafkaError) in
            let topics = try metadata(of: .one(topic), deadline)
            guard let found = topics.first else {
                throw KafkaError("describe topic \(topic.name)", .unknownTopic)
            }
            guard found.code == .none else { throw KafkaError("describe topic \(topic.name)", found.code) }
            return found
        }
    }

    func topics(_ deadline: Deadline) throws(KafkaError) -> [TopicDescription] {
        try Patience.ask(until: deadline) { () throws(KafkaError) in try metadata(of: .all, deadline) }
    }

    private enum Described {
        case all
        /// The topics for which this client has a handle, possibly none.
        case known
        case one(Topic)
    }

    private func metadata(of described: Described, _ deadline: Deadline) throws(KafkaError)
        -> [TopicDescription]
    {
        var found: UnsafePointer<rd_kafka_metadata>?
        let (all, topic): (Int32, OpaquePointer?) =
            switch described {
            case .all: (1, nil)
            case .known: (0, nil)
            case .one(let topic): unsafe (0, topic.pointer)
            }
        let code = unsafe ErrorCode(
            rd_kafka_metadata(pointer, all, topic, &found, max(1, deadline.forCall)))
        guard code == .none, let metadata = unsafe found else { throw KafkaError("describe topics", code) }
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
                code: ErrorCode(topic.err))
        }
    }

    /// Returns the offsets that this consumer's group has committed. They are stable: the call waits for
    /// transactions that hold offsets of these partitions, unless the consumer reads open transactions.
    func committed(
        _ partitions: [TopicPartition], _ deadline: Deadline
    ) throws(KafkaError) -> [CommittedOffset] {
        try Patience.ask(until: deadline) { () throws(KafkaError) in
            let list = PartitionList(partitions)
            let code = unsafe ErrorCode(rd_kafka_committed(pointer, list.pointer, max(1, deadline.forCall)))
            guard code == .none else { throw KafkaError("ask for committed offsets", code) }
            if let first = list.firstError {
                throw KafkaError("ask for the committed offset of \(first.partition)", first.code)
            }
            return (0..<list.count).map { index in
                let offset = list.offset(index)
                return CommittedOffset(
                    partition: list.partition(index), offset: offset >= 0 ? offset : nil,
                    metadata: list.metadata(index))
            }
        }
    }

    /// Returns the offset of the first record at or after each time, or nil without such a record.
    func offsets(
        for times: [(TopicPartition, milliseconds: Int64)], _ deadline: Deadline
    ) throws(KafkaError) -> [TopicPartition: Int64?] {
        var mustLookAgain = false
        return try Patience.ask(until: deadline) { () throws(KafkaError) in
            if mustLookAgain { refresh(Set(times.map(\.0.topic)), deadline) }
            mustLookAgain = true
            let list = PartitionList(times.map { PartitionStart($0.0, .offset($0.milliseconds)) })
            let code = unsafe ErrorCode(
                rd_kafka_offsets_for_times(pointer, list.pointer, max(1, deadline.forCall)))
            guard code == .none else { throw KafkaError("look up offsets by time", code) }
            if let first = list.firstError {
                throw KafkaError("look up offsets by time in \(first.partition)", first.code)
            }
            var offsets: [TopicPartition: Int64?] = [:]
            for index in 0..<list.count {
                offsets[list.partition(index)] = .some(list.offset(index) >= 0 ? list.offset(index) : nil)
            }
            return offsets
        }
    }
}
