internal import CRdKafka

/// Events that the library's callbacks leave for the consumer to handle after a poll, on the same thread.
final class GroupEvents {
    enum RebalanceChange {
        case offered([TopicPartition])
        case revoked([TopicPartition])
    }

    struct CommitResult {
        let code: KafkaErrorCode
        let partitions: [TopicPartition]
    }

    var rebalanceChanges: [RebalanceChange] = []
    var commitResults: [CommitResult] = []

    func attach(to configuration: borrowing ClientConfiguration) {
        unsafe rd_kafka_conf_set_rebalance_cb(configuration.librarySettings, onRebalance)
        unsafe rd_kafka_conf_set_offset_commit_cb(configuration.librarySettings, onCommit)
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
    let group = unsafe Unmanaged<ClientEvents>.fromOpaque(opaque).takeUnretainedValue().groupEvents
    let names = unsafe topicPartitions(in: partitions)
    group.rebalanceChanges.append(
        code == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS ? .offered(names) : .revoked(names))
    unsafe rd_kafka_yield(client)
}

private func onCommit(
    _ client: OpaquePointer?, _ code: rd_kafka_resp_err_t,
    _ partitions: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>?, _ opaque: UnsafeMutableRawPointer?
) {
    guard let opaque = unsafe opaque else { return }
    let group = unsafe Unmanaged<ClientEvents>.fromOpaque(opaque).takeUnretainedValue().groupEvents
    var outcome = KafkaErrorCode(code)
    if outcome == .none, let partitions = unsafe partitions {
        outcome = unsafe PartitionList.firstError(in: partitions)?.code ?? .none
    }
    unsafe group.commitResults.append(
        GroupEvents.CommitResult(code: outcome, partitions: topicPartitions(in: partitions)))
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
