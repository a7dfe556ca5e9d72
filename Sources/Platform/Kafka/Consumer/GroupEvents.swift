internal import CRdKafka

/// Events that the library's callbacks leave for the consumer to handle after a poll, on the same thread.
final class GroupEvents {
    enum Change {
        case offered([TopicPartition])
        case takenBack([TopicPartition])
    }

    struct Commit {
        let code: ErrorCode
        let partitions: [TopicPartition]
    }

    var changes: [Change] = []
    var commits: [Commit] = []

    func attach(to configuration: borrowing Configuration) {
        unsafe rd_kafka_conf_set_rebalance_cb(configuration.unfinished, onRebalance)
        unsafe rd_kafka_conf_set_offset_commit_cb(configuration.unfinished, onCommit)
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
    let group = unsafe Unmanaged<ClientEvents>.fromOpaque(opaque).takeUnretainedValue().group
    let names = unsafe partitionNames(partitions)
    group.changes.append(
        code == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS ? .offered(names) : .takenBack(names))
    unsafe rd_kafka_yield(client)
}

private func onCommit(
    _ client: OpaquePointer?, _ code: rd_kafka_resp_err_t,
    _ partitions: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>?, _ opaque: UnsafeMutableRawPointer?
) {
    guard let opaque = unsafe opaque else { return }
    let group = unsafe Unmanaged<ClientEvents>.fromOpaque(opaque).takeUnretainedValue().group
    var outcome = ErrorCode(code)
    if outcome == .none, let partitions = unsafe partitions {
        outcome = unsafe PartitionList.firstError(partitions)?.code ?? .none
    }
    unsafe group.commits.append(GroupEvents.Commit(code: outcome, partitions: partitionNames(partitions)))
}

private func partitionNames(
    _ list: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>?
) -> [TopicPartition] {
    guard let list = unsafe list else { return [] }
    return unsafe (0..<Int(list.pointee.cnt)).map { index in
        let element = unsafe list.pointee.elems[index]
        return unsafe TopicPartition(String(cString: element.topic), element.partition)
    }
}
