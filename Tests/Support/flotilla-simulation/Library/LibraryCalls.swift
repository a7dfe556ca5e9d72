import Broker
import CSimulatedLibrary
import Glibc
import Kafka
import Lifecycle

// The functions of librdkafka that act on a client, under their own names. `simulation_…` are called by the others,
// which are in C.

typealias TopicPartitionList = UnsafeMutablePointer<rd_kafka_topic_partition_list_t>

/// Returns the partitions of a list, with their offsets.
func partitions(in list: TopicPartitionList?) -> [(Partition, Int64)] {
    guard let list else { return [] }
    return (0..<Int(list.pointee.cnt)).map { index in
        let element = list.pointee.elems[index]
        return (Partition(topic: String(cString: element.topic), number: element.partition), element.offset)
    }
}

func makeList(of partitions: [Partition]) -> TopicPartitionList {
    let list = rd_kafka_topic_partition_list_new(Int32(partitions.count))!
    for partition in partitions {
        _ = rd_kafka_topic_partition_list_add(list, partition.topic, partition.number)
    }
    return list
}

// MARK: Clients

@_cdecl("simulation_client_new")
func makeClient(_ properties: UnsafePointer<simulated_properties_t>) -> OpaquePointer? {
    guard let process = SimulatedProcess.current else { return nil }
    let client = SimulatedClient(ClientProperties(properties.pointee), in: process)
    return OpaquePointer(Unmanaged.passRetained(client).toOpaque())
}

@_cdecl("rd_kafka_destroy_flags")
func destroyClient(_ client: OpaquePointer?, _ flags: Int32) {
    Unmanaged<SimulatedClient>.fromOpaque(UnsafeRawPointer(client!)).takeRetainedValue().end()
}

@_cdecl("rd_kafka_opaque")
func opaque(_ client: OpaquePointer?) -> UnsafeMutableRawPointer? {
    SimulatedClient.from(client).properties.opaque
}

@_cdecl("rd_kafka_fatal_error")
func fatalError(
    _ client: OpaquePointer?, _ text: UnsafeMutablePointer<CChar>?, _ size: Int
) -> rd_kafka_resp_err_t {
    SimulatedClient.from(client).fatalError?.code ?? RD_KAFKA_RESP_ERR_NO_ERROR
}

@_cdecl("rd_kafka_last_error")
func lastError() -> rd_kafka_resp_err_t { RD_KAFKA_RESP_ERR__STATE }

@_cdecl("rd_kafka_clusterid")
func clusterID(_ client: OpaquePointer?, _ milliseconds: Int32) -> UnsafeMutablePointer<CChar>? {
    strdup(VirtualCluster.id)
}

@_cdecl("rd_kafka_metadata")
func metadata(
    _ client: OpaquePointer?, _ allTopics: Int32, _ onlyTopic: OpaquePointer?,
    _ metadata: UnsafeMutablePointer<UnsafePointer<rd_kafka_metadata>?>?, _ milliseconds: Int32
) -> rd_kafka_resp_err_t {
    let client = SimulatedClient.from(client)
    client.passRoundTrip()
    let names =
        onlyTopic.map { [String(cString: rd_kafka_topic_name($0))] }
        ?? (allTopics != 0 ? client.cluster.topics.keys.sorted() : [])
    let logs = names.map { client.cluster.topics[$0] ?? [] }
    // In the library, -1 is a partition without a leader.
    let leaders = logs.joined().map { log in
        Int32(client.cluster.leader(of: Partition(topic: log.topic, number: log.partition)) ?? -1)
    }
    let copies = names.map { UnsafePointer(strdup($0)) }
    defer { for copy in copies { free(UnsafeMutablePointer(mutating: copy)) } }
    metadata?.pointee = simulated_metadata_new(
        copies, logs.map { Int32($0.count) },
        logs.map { $0.isEmpty ? RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART : RD_KAFKA_RESP_ERR_NO_ERROR },
        leaders,
        Int32(names.count))
    return RD_KAFKA_RESP_ERR_NO_ERROR
}

// MARK: Queues

// The queue of a client is the client itself.

@_cdecl("rd_kafka_queue_get_consumer")
func consumerQueue(_ client: OpaquePointer?) -> OpaquePointer? { client }

@_cdecl("rd_kafka_queue_get_main")
func mainQueue(_ client: OpaquePointer?) -> OpaquePointer? { client }

/// The queue of a reader that shares a client, or the queue for the answer to a commit. Its address names it.
private final class ReaderQueue {
    unowned let client: SimulatedClient
    /// The commit whose answer the queue waits for.
    var commit: OffsetCommit?
    init(client: SimulatedClient) { self.client = client }
}

/// Lets the descriptor become readable whenever the process may have something to read, in this queue or in another
/// one.
@_cdecl("rd_kafka_queue_io_event_enable")
func enableSignal(
    _ queue: OpaquePointer?, _ descriptor: Int32, _ payload: UnsafeRawPointer?, _ count: Int
) {
    SimulatedProcess.current?.setSignal(descriptor < 0 ? nil : descriptor, ofQueue: number(of: queue))
}

@_cdecl("rd_kafka_queue_new")
func makeQueue(_ client: OpaquePointer?) -> OpaquePointer? {
    OpaquePointer(Unmanaged.passRetained(ReaderQueue(client: .from(client))).toOpaque())
}

/// Frees nothing: the pointer may be a client or the queue of a reader, and nothing here shows which. Queues are few
/// and small.
@_cdecl("rd_kafka_queue_destroy")
func destroyQueue(_ queue: OpaquePointer?) {}

private func number(of queue: OpaquePointer?) -> UInt { UInt(bitPattern: queue) }

// MARK: Reading

@_cdecl("rd_kafka_subscribe")
func subscribe(_ client: OpaquePointer?, _ list: TopicPartitionList?) -> rd_kafka_resp_err_t {
    SimulatedClient.from(client).membership?.subscribe(to: partitions(in: list).map(\.0.topic))
    return RD_KAFKA_RESP_ERR_NO_ERROR
}

@_cdecl("rd_kafka_consumer_poll")
func poll(_ client: OpaquePointer?, _ milliseconds: Int32) -> UnsafeMutablePointer<rd_kafka_message_t>? {
    let client = SimulatedClient.from(client)
    if client.isDead { return nil }
    client.membership?.serve()
    client.serveCommits()
    client.reportCommits()
    if let error = client.fatalError {
        if client.isFatalErrorReported { return nil }
        client.isFatalErrorReported = true
        return client.message(RD_KAFKA_RESP_ERR__FATAL, text: error.text)
    }
    if let change = client.membership?.takeChange() {
        let (code, affected) =
            switch change {
            case .assigned(let partitions): (RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS, partitions)
            case .revoked(let partitions): (RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS, partitions)
            }
        let list = makeList(of: affected)
        client.properties.onRebalance?(client.pointer, code, list, client.properties.opaque)
        rd_kafka_topic_partition_list_destroy(list)
        return nil
    }
    if let message = client.nextMessage(for: nil) { return message }
    if milliseconds > 0 { MachineClock.advance(milliseconds: Int(milliseconds)) }
    return nil
}

@_cdecl("rd_kafka_consume_queue")
func consume(_ queue: OpaquePointer?, _ milliseconds: Int32) -> UnsafeMutablePointer<rd_kafka_message_t>? {
    let reader = Unmanaged<ReaderQueue>.fromOpaque(UnsafeRawPointer(queue!)).takeUnretainedValue()
    return reader.client.nextMessage(for: number(of: queue))
}

/// The topic's handle does not name its client, so the queue tells it.
@_cdecl("rd_kafka_consume_start_queue")
func startConsuming(
    _ topic: OpaquePointer?, _ partition: Int32, _ offset: Int64, _ queue: OpaquePointer?
) -> Int32 {
    let reader = Unmanaged<ReaderQueue>.fromOpaque(UnsafeRawPointer(queue!)).takeUnretainedValue()
    let started = Partition(topic: String(cString: rd_kafka_topic_name(topic)), number: partition)
    reader.client.startReading(started, at: offset, into: number(of: queue))
    return 0
}

/// The process that calls reads the partition with one of its shared clients.
@_cdecl("rd_kafka_consume_stop")
func stopConsuming(_ topic: OpaquePointer?, _ partition: Int32) -> Int32 {
    let stopped = Partition(topic: String(cString: rd_kafka_topic_name(topic)), number: partition)
    for client in SimulatedProcess.current?.clients ?? [] where client.reading[stopped]?.queue != nil {
        client.stopReading(stopped)
    }
    return 0
}

@_cdecl("rd_kafka_assign")
func assign(_ client: OpaquePointer?, _ list: TopicPartitionList?) -> rd_kafka_resp_err_t {
    let client = SimulatedClient.from(client)
    client.assign(partitions(in: list))
    if list == nil { client.membership?.noteRelease() }
    return RD_KAFKA_RESP_ERR_NO_ERROR
}

@_cdecl("rd_kafka_incremental_assign")
func assignMore(_ client: OpaquePointer?, _ list: TopicPartitionList?) -> OpaquePointer? {
    SimulatedClient.from(client).assignMore(partitions(in: list))
    return nil
}

@_cdecl("rd_kafka_incremental_unassign")
func unassign(_ client: OpaquePointer?, _ list: TopicPartitionList?) -> OpaquePointer? {
    for (partition, _) in partitions(in: list) { SimulatedClient.from(client).stopReading(partition) }
    return nil
}

@_cdecl("rd_kafka_assignment")
func assignment(
    _ client: OpaquePointer?, _ list: UnsafeMutablePointer<TopicPartitionList?>?
) -> rd_kafka_resp_err_t {
    list?.pointee = makeList(of: SimulatedClient.from(client).reading.keys.sorted())
    return RD_KAFKA_RESP_ERR_NO_ERROR
}

@_cdecl("rd_kafka_assignment_lost")
func isAssignmentLost(_ client: OpaquePointer?) -> Int32 {
    SimulatedClient.from(client).membership?.isAssignmentLost == true ? 1 : 0
}

private func setPaused(_ isPaused: Bool, _ client: OpaquePointer?, _ list: TopicPartitionList?)
    -> rd_kafka_resp_err_t
{
    for (partition, _) in partitions(in: list) {
        SimulatedClient.from(client).reading[partition]?.isPaused = isPaused
    }
    return RD_KAFKA_RESP_ERR_NO_ERROR
}

@_cdecl("rd_kafka_pause_partitions")
func pause(_ client: OpaquePointer?, _ list: TopicPartitionList?) -> rd_kafka_resp_err_t {
    setPaused(true, client, list)
}

@_cdecl("rd_kafka_resume_partitions")
func resume(_ client: OpaquePointer?, _ list: TopicPartitionList?) -> rd_kafka_resp_err_t {
    setPaused(false, client, list)
}

@_cdecl("rd_kafka_seek_partitions")
func seek(_ client: OpaquePointer?, _ list: TopicPartitionList?, _ milliseconds: Int32) -> OpaquePointer? {
    for (partition, offset) in partitions(in: list) {
        SimulatedClient.from(client).seek(partition, to: offset)
    }
    return nil
}

@_cdecl("rd_kafka_position")
func position(_ client: OpaquePointer?, _ list: TopicPartitionList?) -> rd_kafka_resp_err_t {
    let client = SimulatedClient.from(client)
    for (index, (partition, _)) in partitions(in: list).enumerated() {
        list?.pointee.elems[index].offset =
            client.reading[partition]?.offset ?? Int64(RD_KAFKA_OFFSET_INVALID)
    }
    return RD_KAFKA_RESP_ERR_NO_ERROR
}

// MARK: Offsets

@_cdecl("rd_kafka_get_watermark_offsets")
func watermarks(
    _ client: OpaquePointer?, _ topic: UnsafePointer<CChar>?, _ partition: Int32,
    _ low: UnsafeMutablePointer<Int64>?,
    _ high: UnsafeMutablePointer<Int64>?
) -> rd_kafka_resp_err_t {
    let partition = Partition(topic: String(cString: topic!), number: partition)
    guard let log = SimulatedClient.from(client).cluster.log(of: partition) else {
        return RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION
    }
    low?.pointee = log.startOffset
    high?.pointee = log.endOffset
    return RD_KAFKA_RESP_ERR_NO_ERROR
}

@_cdecl("rd_kafka_offsets_for_times")
func offsets(
    _ client: OpaquePointer?, _ list: TopicPartitionList?, _ milliseconds: Int32
) -> rd_kafka_resp_err_t {
    let client = SimulatedClient.from(client)
    client.passRoundTrip()
    for (index, (partition, time)) in partitions(in: list).enumerated() {
        guard client.cluster.leader(of: partition) != nil, let log = client.cluster.log(of: partition) else {
            list?.pointee.elems[index].err = RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE
            continue
        }
        list?.pointee.elems[index].offset =
            switch time {
            case Int64(RD_KAFKA_OFFSET_BEGINNING): log.startOffset
            case Int64(RD_KAFKA_OFFSET_END): log.lastStableOffset
            default: log.firstOffset(since: time) ?? Int64(RD_KAFKA_OFFSET_END)
            }
    }
    return RD_KAFKA_RESP_ERR_NO_ERROR
}

@_cdecl("rd_kafka_committed")
func committed(
    _ client: OpaquePointer?, _ list: TopicPartitionList?, _ milliseconds: Int32
) -> rd_kafka_resp_err_t {
    let client = SimulatedClient.from(client)
    client.passRoundTrip()
    let group = client.properties.group ?? ""
    let slot = client.cluster.slot(of: group)
    guard slot.isAvailable else { return RD_KAFKA_RESP_ERR__WAIT_COORD }
    let asked = partitions(in: list).map(\.0)
    let request = OffsetFetchRequest(
        groups: [
            .init(
                groupID: group,
                topics: asked.map { TopicPartitions(topic: $0.topic, partitions: [$0.number]) })
        ], requireStable: true)
    var answer: OffsetFetchResponse?
    slot.handle(.fetch(request), from: "rdkafka") { if case .fetch(let response) = $0 { answer = response } }
    client.cluster.deliverAnswers()
    guard let found = answer?.groups.first else { return RD_KAFKA_RESP_ERR__TIMED_OUT }
    if found.error != .none { return rd_kafka_resp_err_t(Int32(found.error.rawValue)) }
    for (index, topic) in found.topics.enumerated() {
        guard let partition = topic.partitions.first else { continue }
        list?.pointee.elems[index].offset =
            partition.offset >= 0 ? partition.offset : Int64(RD_KAFKA_OFFSET_INVALID)
        list?.pointee.elems[index].err = rd_kafka_resp_err_t(Int32(partition.error.rawValue))
        if partition.metadata.isEmpty { continue }
        // The library frees the copy together with the list.
        list?.pointee.elems[index].metadata = UnsafeMutableRawPointer(strdup(partition.metadata))
        list?.pointee.elems[index].metadata_size = partition.metadata.utf8.count
    }
    return RD_KAFKA_RESP_ERR_NO_ERROR
}

@_cdecl("rd_kafka_consumer_group_metadata")
func groupMetadata(_ client: OpaquePointer?) -> OpaquePointer? {
    let client = SimulatedClient.from(client)
    guard let membership = client.membership else { return nil }
    let snapshot = GroupSnapshot(of: membership, instance: client.properties.instance)
    return OpaquePointer(Unmanaged.passRetained(snapshot).toOpaque())
}

@_cdecl("rd_kafka_consumer_group_metadata_destroy")
func destroyGroupMetadata(_ metadata: OpaquePointer?) {
    Unmanaged<GroupSnapshot>.fromOpaque(UnsafeRawPointer(metadata!)).release()
}

/// Returns the offsets of a list, with their metadata.
private func offsetsWithMetadata(in list: TopicPartitionList?) -> [(Partition, Int64, metadata: String)] {
    partitions(in: list).enumerated().map { index, element in
        let entry = list!.pointee.elems[index]
        let metadata = UnsafeRawBufferPointer(start: entry.metadata, count: entry.metadata_size)
        return (element.0, element.1, String(decoding: metadata, as: UTF8.self))
    }
}

/// The product uses this function only for commits without waiting.
@_cdecl("rd_kafka_commit")
func commit(_ client: OpaquePointer?, _ list: TopicPartitionList?, _ isAsynchronous: Int32)
    -> rd_kafka_resp_err_t
{
    let client = SimulatedClient.from(client)
    if client.fatalError != nil { return RD_KAFKA_RESP_ERR__FATAL }
    guard isAsynchronous != 0, let commit = client.makeCommit(offsetsWithMetadata(in: list)) else {
        return RD_KAFKA_RESP_ERR__NOT_IMPLEMENTED
    }
    client.commits.append(commit)
    client.serveCommits()
    return RD_KAFKA_RESP_ERR_NO_ERROR
}

/// The caller polls the queue for the answer.
@_cdecl("rd_kafka_commit_queue")
func commit(
    _ client: OpaquePointer?, _ list: TopicPartitionList?, _ queue: OpaquePointer?,
    _ callback: UnsafeRawPointer?, _ opaque: UnsafeMutableRawPointer?
) -> rd_kafka_resp_err_t {
    let client = SimulatedClient.from(client)
    if client.fatalError != nil { return RD_KAFKA_RESP_ERR__FATAL }
    let reader = Unmanaged<ReaderQueue>.fromOpaque(UnsafeRawPointer(queue!)).takeUnretainedValue()
    reader.commit = client.makeCommit(offsetsWithMetadata(in: list))
    return reader.commit == nil ? RD_KAFKA_RESP_ERR__STATE : RD_KAFKA_RESP_ERR_NO_ERROR
}

// MARK: Closing

@_cdecl("rd_kafka_consumer_close_queue")
func close(_ client: OpaquePointer?, _ queue: OpaquePointer?) -> OpaquePointer? { nil }

@_cdecl("rd_kafka_consumer_closed")
func isClosed(_ client: OpaquePointer?) -> Int32 { 1 }

// MARK: Writing

@_cdecl("simulation_produce")
func produce(
    _ client: OpaquePointer?, _ topic: OpaquePointer?, _ partition: Int32, _ value: UnsafeRawPointer?,
    _ valueCount: Int, _ key: UnsafeRawPointer?, _ keyCount: Int, _ headers: OpaquePointer?,
    _ tag: UnsafeMutableRawPointer?, _ timestamp: Int64
) -> rd_kafka_resp_err_t {
    let client = SimulatedClient.from(client)
    let name = String(cString: rd_kafka_topic_name(topic))
    var record = LogRecord()
    record.key = key.map { Array(UnsafeRawBufferPointer(start: $0, count: keyCount)) }
    record.value = value.map { Array(UnsafeRawBufferPointer(start: $0, count: valueCount)) }
    record.timestamp = timestamp
    var number = partition
    if number < 0 {
        let count = client.cluster.topics[name]?.count ?? 1
        number = Int32(record.key.map { Murmur2.partition(forKey: $0.span, partitionCount: count) } ?? 0)
    }
    for index in 0..<(headers.map { rd_kafka_header_cnt($0) } ?? 0) {
        var (name, value, size) = (UnsafePointer<CChar>?.none, UnsafeRawPointer?.none, 0)
        _ = rd_kafka_header_get_all(headers, index, &name, &value, &size)
        record.headers.append(
            (
                String(cString: name!),
                value.map { Array(UnsafeRawBufferPointer(start: $0, count: size)) }
            ))
    }
    let code = client.queue(record, to: Partition(topic: name, number: number), tag: tag)
    if code == RD_KAFKA_RESP_ERR_NO_ERROR, let headers { rd_kafka_headers_destroy(headers) }
    return code
}

@_cdecl("rd_kafka_poll")
func serve(_ client: OpaquePointer?, _ milliseconds: Int32) -> Int32 {
    SimulatedClient.from(client).servePublishing()
    return 0
}

@_cdecl("rd_kafka_outq_len")
func outstandingRecords(_ client: OpaquePointer?) -> Int32 {
    let client = SimulatedClient.from(client)
    client.servePublishing()
    return Int32(client.outbox.count + client.deliveries.count)
}

@_cdecl("rd_kafka_queue_poll")
func pollQueue(_ queue: OpaquePointer?, _ milliseconds: Int32) -> OpaquePointer? {
    let object = Unmanaged<AnyObject>.fromOpaque(UnsafeRawPointer(queue!)).takeUnretainedValue()
    if let queue = object as? ReaderQueue {
        guard let commit = queue.commit else { return nil }
        return queue.client.commitAndWait(commit, withinMilliseconds: Int(milliseconds)).flatMap {
            simulated_commit_answer_new($0)
        }
    }
    let client = SimulatedClient.from(queue)
    client.servePublishing()
    if client.deliveries.isEmpty, milliseconds > 0 {
        MachineClock.advance(milliseconds: Int(milliseconds))
        client.servePublishing()
    }
    if client.deliveries.isEmpty { return nil }
    var messages: [UnsafeMutablePointer<rd_kafka_message_t>?] = client.deliveries
    client.deliveries = []
    return simulated_deliveries_new(&messages, messages.count)
}

@_cdecl("rd_kafka_flush")
func flush(_ client: OpaquePointer?, _ milliseconds: Int32) -> rd_kafka_resp_err_t {
    let client = SimulatedClient.from(client)
    let start = MachineClock.now
    client.servePublishing()
    while !client.outbox.isEmpty, MachineClock.now.milliseconds(since: start) < Int(milliseconds) {
        client.passRoundTrip()
        client.servePublishing()
    }
    return client.outbox.isEmpty ? RD_KAFKA_RESP_ERR_NO_ERROR : RD_KAFKA_RESP_ERR__TIMED_OUT
}

@_cdecl("rd_kafka_purge")
func purge(_ client: OpaquePointer?, _ flags: Int32) -> rd_kafka_resp_err_t {
    SimulatedClient.from(client).finishRecords { _ in RD_KAFKA_RESP_ERR__PURGE_QUEUE }
    return RD_KAFKA_RESP_ERR_NO_ERROR
}

// MARK: Transactions

@_cdecl("rd_kafka_init_transactions")
func initializeTransactions(_ client: OpaquePointer?, _ milliseconds: Int32) -> OpaquePointer? {
    SimulatedClient.from(client).initializeTransactions(withinMilliseconds: Int(milliseconds))
}

@_cdecl("rd_kafka_begin_transaction")
func beginTransaction(_ client: OpaquePointer?) -> OpaquePointer? {
    SimulatedClient.from(client).beginTransaction()
}

@_cdecl("rd_kafka_send_offsets_to_transaction")
func sendOffsets(
    _ client: OpaquePointer?, _ list: TopicPartitionList?, _ group: OpaquePointer?, _ milliseconds: Int32
) -> OpaquePointer? {
    let snapshot = Unmanaged<GroupSnapshot>.fromOpaque(UnsafeRawPointer(group!)).takeUnretainedValue()
    return SimulatedClient.from(client).sendOffsets(
        offsetsWithMetadata(in: list), for: snapshot, withinMilliseconds: Int(milliseconds))
}

@_cdecl("rd_kafka_commit_transaction")
func commitTransaction(_ client: OpaquePointer?, _ milliseconds: Int32) -> OpaquePointer? {
    SimulatedClient.from(client).endTransaction(commits: true, withinMilliseconds: Int(milliseconds))
}

@_cdecl("rd_kafka_abort_transaction")
func abortTransaction(_ client: OpaquePointer?, _ milliseconds: Int32) -> OpaquePointer? {
    SimulatedClient.from(client).endTransaction(commits: false, withinMilliseconds: Int(milliseconds))
}
