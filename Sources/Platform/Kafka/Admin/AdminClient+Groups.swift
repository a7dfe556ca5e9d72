internal import CRdKafka

/// The progress of a group in one partition.
package struct GroupLag: Sendable, Equatable {
    package let committed: CommittedOffset
    package let watermarks: Watermarks

    /// The number of waiting records: from the committed offset, or else from the beginning, to the end.
    package var recordCount: Int64 {
        max(0, watermarks.high - max(committed.offset ?? watermarks.low, watermarks.low))
    }
}

extension AdminClient {
    /// Returns the names of all consumer groups.
    package func groupNames(withinMilliseconds limit: Int = 5000) throws(KafkaError) -> [String] {
        let deadline = Deadline(milliseconds: limit)
        return try RetryPolicy.retry(until: deadline) { () throws(KafkaError) in
            let (names, code) = try unsafe performRequest(
                "list groups", operation: RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPS,
                withinMilliseconds: deadline.millisecondsLeft
            ) { options, queue in
                unsafe rd_kafka_ListConsumerGroups(client.pointer, options, queue)
            } read: { event in
                unsafe readGroupNames(from: event)
            }
            // If one broker's failure were ignored, its groups would seem to have disappeared.
            guard code == .none else { throw KafkaError(action: "list groups", code: code) }
            return names
        }
    }

    /// Returns the offsets that a group has committed for these partitions.
    package func committedOffsets(
        by group: String, in partitions: [TopicPartition], withinMilliseconds limit: Int = 5000
    ) throws(KafkaError) -> [CommittedOffset] {
        let list = PartitionList(partitions)
        var request = unsafe rd_kafka_ListConsumerGroupOffsets_new(group, list.pointer)
        defer { unsafe rd_kafka_ListConsumerGroupOffsets_destroy(request) }
        let action = "read the committed offsets of group \(group)"
        let deadline = Deadline(milliseconds: limit)
        return try RetryPolicy.retry(until: deadline) { () throws(KafkaError) in
            let (offsets, code) = try unsafe performRequest(
                action, operation: RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPOFFSETS,
                withinMilliseconds: deadline.millisecondsLeft
            ) { options, queue in
                unsafe rd_kafka_ListConsumerGroupOffsets(client.pointer, &request, 1, options, queue)
            } read: { event in
                unsafe readCommittedOffsets(from: event)
            }
            guard code == .none else { throw KafkaError(action: action, code: code) }
            return offsets
        }
    }

    /// Sets the offsets of a group. Kafka refuses this while the group has members.
    package func setOffsets(
        of group: String, to offsets: [TopicPartition: Int64], withinMilliseconds limit: Int = 15_000
    ) throws(KafkaError) {
        let list = PartitionList(offsets)
        var request = unsafe rd_kafka_AlterConsumerGroupOffsets_new(group, list.pointer)
        defer { unsafe rd_kafka_AlterConsumerGroupOffsets_destroy(request) }
        let action = "set the offsets of group \(group)"
        let code = try unsafe performRequest(
            action, operation: RD_KAFKA_ADMIN_OP_ALTERCONSUMERGROUPOFFSETS, withinMilliseconds: limit
        ) { options, queue in
            unsafe rd_kafka_AlterConsumerGroupOffsets(client.pointer, &request, 1, options, queue)
        } read: { event in
            unsafe readAlterationCode(from: event)
        }
        guard code == .none else { throw KafkaError(action: action, code: code) }
    }

    /// Returns the lag of a group in these partitions.
    package func lag(
        of group: String, in partitions: [TopicPartition], withinMilliseconds limit: Int = 10_000
    ) throws(KafkaError) -> [GroupLag] {
        let deadline = Deadline(milliseconds: limit)
        return try lags(
            after: committedOffsets(by: group, in: partitions, withinMilliseconds: limit), until: deadline)
    }

    /// Returns the lag in the partitions for which the group has committed an offset. Reads only their
    /// watermarks, because a cluster may have thousands of partitions.
    package func lagOfConsumedPartitions(
        by group: String, among partitions: [TopicPartition], withinMilliseconds limit: Int = 10_000
    ) throws(KafkaError) -> [GroupLag] {
        let deadline = Deadline(milliseconds: limit)
        let committed = try committedOffsets(by: group, in: partitions, withinMilliseconds: limit)
        return try lags(after: committed.filter { $0.offset != nil }, until: deadline)
    }

    /// Returns the lag behind each committed offset.
    private func lags(after offsets: [CommittedOffset], until deadline: Deadline) throws(KafkaError)
        -> [GroupLag]
    {
        var lags: [GroupLag] = []
        for committed in offsets {
            lags.append(
                GroupLag(
                    committed: committed,
                    watermarks: try client.watermarks(of: committed.partition, until: deadline)))
        }
        return lags
    }

    /// Returns the first offset and the offset of the next record.
    package func watermarks(
        of partition: TopicPartition, withinMilliseconds limit: Int = 5000
    ) throws(KafkaError) -> Watermarks {
        try client.watermarks(of: partition, until: Deadline(milliseconds: limit))
    }

    /// Returns, per partition, the offset of the first record at or after a time, or nil without such a
    /// record.
    package func offsets(
        atMilliseconds time: Int64, in partitions: [TopicPartition], withinMilliseconds limit: Int = 5000
    ) throws(KafkaError) -> [TopicPartition: Int64?] {
        try client.offsets(for: partitions.map { ($0, time) }, until: Deadline(milliseconds: limit))
    }
}

/// Returns the names of the groups, or the code of the first broker that failed.
private func readGroupNames(from event: OpaquePointer) -> ([String], KafkaErrorCode) {
    let result = unsafe rd_kafka_event_ListConsumerGroups_result(event)
    var errorCount = 0
    let errors = unsafe rd_kafka_ListConsumerGroups_result_errors(result, &errorCount)
    if errorCount > 0, let error = unsafe errors?[0] {
        return ([], unsafe KafkaErrorCode(rd_kafka_error_code(error)))
    }
    var count = 0
    let listings = unsafe rd_kafka_ListConsumerGroups_result_valid(result, &count)
    let names = (0..<count).compactMap { index in
        unsafe rd_kafka_ConsumerGroupListing_group_id(listings?[index]).map { unsafe String(cString: $0) }
    }
    return (names, .none)
}

/// Returns the first error of the group or of one of its partitions, or `none`.
private func readAlterationCode(from event: OpaquePointer) -> KafkaErrorCode {
    var count = 0
    let groups = unsafe rd_kafka_AlterConsumerGroupOffsets_result_groups(
        rd_kafka_event_AlterConsumerGroupOffsets_result(event), &count)
    guard count == 1, let group = unsafe groups?[0] else { return .state }
    if let error = unsafe rd_kafka_group_result_error(group) {
        return unsafe KafkaErrorCode(rd_kafka_error_code(error))
    }
    guard let partitions = unsafe rd_kafka_group_result_partitions(group) else { return .none }
    let list = unsafe PartitionList(adopting: rd_kafka_topic_partition_list_copy(partitions))
    return list.firstError?.code ?? .none
}

/// Returns the committed offsets, or the first error of the group or of one of its partitions.
private func readCommittedOffsets(from event: OpaquePointer) -> ([CommittedOffset], KafkaErrorCode) {
    var count = 0
    let groups = unsafe rd_kafka_ListConsumerGroupOffsets_result_groups(
        rd_kafka_event_ListConsumerGroupOffsets_result(event), &count)
    guard count == 1, let group = unsafe groups?[0] else { return ([], .state) }
    if let error = unsafe rd_kafka_group_result_error(group) {
        return ([], unsafe KafkaErrorCode(rd_kafka_error_code(error)))
    }
    guard let partitions = unsafe rd_kafka_group_result_partitions(group) else { return ([], .none) }
    let list = unsafe PartitionList(adopting: rd_kafka_topic_partition_list_copy(partitions))
    if let first = list.firstError { return ([], first.code) }
    return (list.committedOffsets, .none)
}
