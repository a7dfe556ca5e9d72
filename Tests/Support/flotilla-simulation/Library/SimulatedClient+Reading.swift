import CSimulatedLibrary
import Lifecycle

/// The position of a client in a partition that it reads.
struct ReadState {
    /// The queue of a reader that shares the client. Nil for the consumer itself.
    let queue: UInt?
    var offset: Int64
    var isPaused = false
    /// The end that was reported. The end is reported once.
    var reportedEnd: Int64?
    /// Whether the offset was out of range. Then the client reads no more until the partition is assigned again.
    var isStopped = false
}

extension SimulatedClient {
    /// Returns the next message for a queue: a record, the end of a partition, or an offset that is out of range.
    func nextMessage(for queue: UInt?) -> UnsafeMutablePointer<rd_kafka_message_t>? {
        if isDead { return nil }
        let partitions = order(of: queue)
        if partitions.isEmpty { return nil }
        // A partition is read until it has no more, because a fetch brings many records of one partition.
        for step in partitions.indices {
            let partition = partitions[(nextRead + step) % partitions.count]
            guard let message = nextMessage(of: partition) else { continue }
            nextRead = (nextRead + step) % partitions.count
            return message
        }
        return nil
    }

    private func order(of queue: UInt?) -> [Partition] {
        if let order = readingOrder[queue] { return order }
        let order = reading.keys.filter { reading[$0]?.queue == queue }.sorted()
        readingOrder[queue] = order
        return order
    }

    private func nextMessage(of partition: Partition) -> UnsafeMutablePointer<rd_kafka_message_t>? {
        guard var state = reading[partition], !state.isPaused, !state.isStopped,
            cluster.leader(of: partition) != nil, let log = cluster.log(of: partition)
        else { return nil }
        let message = nextMessage(of: partition, in: log, moving: &state)
        reading[partition] = state
        return message
    }

    private func nextMessage(
        of partition: Partition, in log: VirtualLog, moving state: inout ReadState
    ) -> UnsafeMutablePointer<rd_kafka_message_t>? {
        guard (log.startOffset...log.endOffset).contains(state.offset) else {
            state.isStopped = true
            return message(
                RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET, of: partition, at: state.offset,
                text: "the offset \(state.offset) is out of range")
        }
        if let record = log.nextCommitted(from: &state.offset) {
            state.offset = record.offset + 1
            process.note(stamp: record.timestamp)
            return message(record, of: partition, isStampedByCluster: log.isStampedByCluster)
        }
        if state.reportedEnd == state.offset { return nil }
        state.reportedEnd = state.offset
        return message(RD_KAFKA_RESP_ERR__PARTITION_EOF, of: partition, at: state.offset, text: "the end")
    }

    private func message(
        _ record: LogRecord, of partition: Partition, isStampedByCluster: Bool
    ) -> UnsafeMutablePointer<rd_kafka_message_t>? {
        var headers: OpaquePointer?
        if !record.headers.isEmpty {
            headers = rd_kafka_headers_new(record.headers.count)
            for (name, value) in record.headers {
                withBytes(of: value) { bytes, count in
                    _ = rd_kafka_header_add(headers, name, name.utf8.count, bytes, count)
                }
            }
        }
        return withBytes(of: record.value) { value, valueCount in
            withBytes(of: record.key) { key, keyCount in
                simulated_message_new(
                    RD_KAFKA_RESP_ERR_NO_ERROR, topicHandle(of: partition.topic), partition.number,
                    record.offset,
                    value, valueCount, key, keyCount, record.timestamp,
                    isStampedByCluster ? RD_KAFKA_TIMESTAMP_LOG_APPEND_TIME : RD_KAFKA_TIMESTAMP_CREATE_TIME,
                    headers)
            }
        }
    }

    func message(
        _ code: rd_kafka_resp_err_t, of partition: Partition? = nil, at offset: Int64 = 0, text: String
    ) -> UnsafeMutablePointer<rd_kafka_message_t>? {
        withBytes(of: Array(text.utf8) + [0]) { bytes, count in
            simulated_message_new(
                code, partition.flatMap { topicHandle(of: $0.topic) }, partition?.number ?? -1, offset, bytes,
                count, nil,
                0, 0, RD_KAFKA_TIMESTAMP_NOT_AVAILABLE, nil)
        }
    }

    // MARK: Assignment

    /// Replaces the assignment of the consumer itself.
    func assign(_ offsets: [(Partition, Int64)]) {
        stopReading { $0.queue == nil }
        assignMore(offsets)
    }

    /// Reads no more of the partitions for which `isStopped` returns true.
    func stopReading(_ isStopped: (ReadState) -> Bool) {
        reading = reading.filter { !isStopped($0.value) }
        readingOrder = [:]
    }

    func stopReading(_ partition: Partition) {
        reading[partition] = nil
        readingOrder = [:]
    }

    /// Adds partitions to the assignment of the consumer itself.
    func assignMore(_ offsets: [(Partition, Int64)]) {
        readingOrder = [:]
        for (partition, offset) in offsets { reading[partition] = ReadState(queue: nil, offset: offset) }
    }

    func startReading(_ partition: Partition, at offset: Int64, into queue: UInt) {
        reading[partition] = ReadState(queue: queue, offset: offset)
        readingOrder = [:]
    }

    func seek(_ partition: Partition, to offset: Int64) {
        guard let state = reading[partition] else { return }
        reading[partition] = ReadState(queue: state.queue, offset: offset, isPaused: state.isPaused)
    }

    /// Whether a record of the partition wakes the process.
    func isReading(_ partition: Partition) -> Bool { reading[partition]?.isPaused == false }
}

/// Calls `body` with the address and the number of the bytes. Nil gives a null pointer, and no bytes give another one.
func withBytes<Result>(of bytes: [UInt8]?, body: (UnsafeRawPointer?, Int) -> Result) -> Result {
    guard let bytes else { return body(nil, 0) }
    if bytes.isEmpty { return [UInt8(0)].withUnsafeBytes { body($0.baseAddress, 0) } }
    return bytes.withUnsafeBytes { body($0.baseAddress, $0.count) }
}
