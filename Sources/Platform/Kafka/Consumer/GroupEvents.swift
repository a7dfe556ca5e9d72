internal import CRdKafka

/// The group's events of one poll. The library's callbacks add them, and the consumer handles them after the
/// poll, on the same thread.
final class GroupEvents {
    enum RebalanceChange {
        case offered([TopicPartition])
        case revoked([TopicPartition])
    }

    struct CommitResult {
        let code: KafkaErrorCode
        let partitions: [TopicPartition]
    }

    /// In the order of their events.
    var rebalanceChanges: [RebalanceChange] = []
    var commitResults: [CommitResult] = []

    func attach(to configuration: borrowing ClientConfiguration) {
        unsafe rd_kafka_conf_set_rebalance_cb(configuration.borrowedPointer, onRebalance)
        unsafe rd_kafka_conf_set_offset_commit_cb(configuration.borrowedPointer, onCommit)
    }
}

/// Records the change. The answer, `rd_kafka_assign`, follows later on the same thread, because a stage may
/// need its event loop to run before it can release partitions. The poll that brought the change returns at
/// once.
private func onRebalance(
    _ client: OpaquePointer?, _ code: rd_kafka_resp_err_t,
    _ partitions: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>?, _ opaque: UnsafeMutableRawPointer?
) {
    guard let client = unsafe client, let opaque = unsafe opaque else { return }
    let events = unsafe Unmanaged<ClientEvents>.fromOpaque(opaque).takeUnretainedValue().groupEvents
    let partitions = unsafe topicPartitions(in: partitions)
    events.rebalanceChanges.append(
        code == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS ? .offered(partitions) : .revoked(partitions))
    unsafe rd_kafka_yield(client)
}

/// Records the outcome of a commit: its own error, or else the first error of a partition.
private func onCommit(
    _ client: OpaquePointer?, _ code: rd_kafka_resp_err_t,
    _ partitions: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>?, _ opaque: UnsafeMutableRawPointer?
) {
    guard let opaque = unsafe opaque else { return }
    let events = unsafe Unmanaged<ClientEvents>.fromOpaque(opaque).takeUnretainedValue().groupEvents
    var code = KafkaErrorCode(code)
    if code == .none, let partitions = unsafe partitions {
        code = unsafe PartitionList.firstError(in: partitions)?.code ?? .none
    }
    unsafe events.commitResults.append(
        GroupEvents.CommitResult(code: code, partitions: topicPartitions(in: partitions)))
}

private func topicPartitions(
    in list: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>?
) -> [TopicPartition] {
    guard let list = unsafe list else { return [] }
    return unsafe (0..<Int(list.pointee.cnt)).map { index in
        let element = unsafe list.pointee.elems[index]
        return unsafe TopicPartition(String(cString: element.topic), element.partition)
    }
}
