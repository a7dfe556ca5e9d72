internal import CRdKafka

/// A topic to create.
package struct NewTopic: Sendable, Equatable {
    package let name: String
    package let partitionCount: Int
    package let replicationFactor: Int
    package let configuration: [String: String]

    package init(
        name: String, partitionCount: Int, replicationFactor: Int, configuration: [String: String] = [:]
    ) {
        self.name = name
        self.partitionCount = partitionCount
        self.replicationFactor = replicationFactor
        self.configuration = configuration
    }
}

/// The outcome for one topic of a request. The caller decides whether `topicExists` and
/// `unknownTopicOrPartition` are failures.
package struct TopicOutcome: Sendable, Equatable {
    package let name: String
    package let code: KafkaErrorCode
    package let text: String
}

extension AdminClient {
    /// Creates topics. Returns the outcome for each.
    package func createTopics(
        _ topics: [NewTopic], withinMilliseconds limit: Int = 15_000
    ) throws(KafkaError) -> [TopicOutcome] {
        var requests: [OpaquePointer?] = unsafe []
        defer { unsafe rd_kafka_NewTopic_destroy_array(&requests, requests.count) }
        for topic in topics {
            guard
                let request = unsafe rd_kafka_NewTopic_new(
                    topic.name, Int32(clamping: topic.partitionCount),
                    Int32(clamping: topic.replicationFactor), nil, 0)
            else { throw KafkaError(action: "create topic \(topic.name)", code: .invalidArgument) }
            unsafe requests.append(request)
            for (name, value) in topic.configuration {
                _ = unsafe rd_kafka_NewTopic_set_config(request, name, value)
            }
        }
        return try unsafe performRequest(
            "create topics", operation: RD_KAFKA_ADMIN_OP_CREATETOPICS, withinMilliseconds: limit
        ) { options, queue in
            unsafe rd_kafka_CreateTopics(client.pointer, &requests, requests.count, options, queue)
        } read: { event in
            var count = 0
            let results = unsafe rd_kafka_CreateTopics_result_topics(
                rd_kafka_event_CreateTopics_result(event), &count)
            return unsafe readOutcomes(from: results, count: count)
        }
    }

    /// Deletes topics. Returns the outcome for each.
    package func deleteTopics(
        _ topics: [String], withinMilliseconds limit: Int = 15_000
    ) throws(KafkaError) -> [TopicOutcome] {
        var requests: [OpaquePointer?] = unsafe topics.map { unsafe rd_kafka_DeleteTopic_new($0) }
        defer { unsafe rd_kafka_DeleteTopic_destroy_array(&requests, requests.count) }
        return try unsafe performRequest(
            "delete topics", operation: RD_KAFKA_ADMIN_OP_DELETETOPICS, withinMilliseconds: limit
        ) { options, queue in
            unsafe rd_kafka_DeleteTopics(client.pointer, &requests, requests.count, options, queue)
        } read: { event in
            var count = 0
            let results = unsafe rd_kafka_DeleteTopics_result_topics(
                rd_kafka_event_DeleteTopics_result(event), &count)
            return unsafe readOutcomes(from: results, count: count)
        }
    }

    /// Deletes the records below an offset of each partition, as retention does.
    package func deleteRecords(
        before offsets: [TopicPartition: Int64], withinMilliseconds limit: Int = 15_000
    ) throws(KafkaError) {
        let list = PartitionList(offsets)
        var request = unsafe rd_kafka_DeleteRecords_new(list.pointer)
        defer { unsafe rd_kafka_DeleteRecords_destroy(request) }
        let failure = try unsafe performRequest(
            "delete records", operation: RD_KAFKA_ADMIN_OP_DELETERECORDS, withinMilliseconds: limit
        ) { options, queue in
            unsafe rd_kafka_DeleteRecords(client.pointer, &request, 1, options, queue)
        } read: { event in
            let result = unsafe rd_kafka_event_DeleteRecords_result(event)
            return unsafe rd_kafka_DeleteRecords_result_offsets(result).flatMap { list in
                unsafe PartitionList.firstError(in: UnsafeMutablePointer(mutating: list))
            }
        }
        if let failure {
            throw KafkaError(action: "delete records of \(failure.partition)", code: failure.code)
        }
    }

    /// Returns every topic with its partitions.
    package func topics(withinMilliseconds limit: Int = 5000) throws(KafkaError) -> [TopicDescription] {
        try client.topics(until: Deadline(milliseconds: limit))
    }

    /// Returns one topic with its partitions. Throws if the topic does not exist.
    package func describe(
        _ topic: String, withinMilliseconds limit: Int = 5000
    ) throws(KafkaError) -> TopicDescription {
        try client.describe(Topic(name: topic, client: client), until: Deadline(milliseconds: limit))
    }

    /// Waits until the leader of every partition of these topics answers. Writes and reads before that fail.
    package func waitForLeaders(of topics: [String], withinMilliseconds limit: Int) throws(KafkaError) {
        let deadline = Deadline(milliseconds: limit)
        var partitions: [TopicPartition] = []
        for topic in topics {
            let description = try client.describe(Topic(name: topic, client: client), until: deadline)
            partitions += description.partitions.map { TopicPartition(topic, $0) }
        }
        // In place of a time, this constant asks each leader for the end of its partition.
        let end = Int64(RD_KAFKA_OFFSET_END)
        _ = try client.offsets(for: partitions.map { ($0, end) }, until: deadline)
    }
}

private func readOutcomes(from results: UnsafeMutablePointer<OpaquePointer?>?, count: Int) -> [TopicOutcome] {
    guard let results = unsafe results else { return [] }
    return (0..<count).map { index in
        let result = unsafe results[index]
        let code = unsafe KafkaErrorCode(rd_kafka_topic_result_error(result))
        return unsafe TopicOutcome(
            name: String(cString: rd_kafka_topic_result_name(result)), code: code,
            text: rd_kafka_topic_result_error_string(result).map { unsafe String(cString: $0) } ?? code.text)
    }
}
