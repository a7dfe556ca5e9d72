/// The encoder of a Fetch answer, which reads the records straight into it.
enum FetchResponse {
    static func writeError(_ error: ErrorCode, to writer: inout WireWriter, version: Int16) {
        writer.int32(0)
        if version >= 7 {
            writer.error(error)
            writer.int32(0)
        }
        writer.longLength(0)
    }

    /// The free space and the content of one answer.
    struct FetchBudget {
        fileprivate var bytesLeft: Int
        fileprivate var recordsLeft: Int64
        fileprivate(set) var bytes = 0

        /// Whether a limit of the broker ended the answer. Then a wait would not add records.
        var isFull: Bool { bytesLeft <= 0 || recordsLeft <= 0 }
        /// Whether a partition has more records than its read gave, because its segment ended or the next
        /// batch did not fit. Another read gives them; a wait does not.
        fileprivate(set) var hasMore = false
    }

    /// Writes the answer within the limits of the client and of the broker. The first partition with
    /// records always gives a whole batch of any size, so that a reader makes progress.
    @discardableResult
    static func write(_ parked: ParkedFetch, to writer: inout WireWriter, limits: SessionLimits)
        -> FetchBudget
    {
        let request = parked.request
        let version = parked.exchange.version
        writer.int32(0)
        if version >= 7 {
            writer.error(.none)
            writer.int32(0)
        }
        var room = FetchBudget(
            bytesLeft: min(Int(request.bytesMax), limits.fetchBytesMax), recordsLeft: limits.fetchRecordsMax)
        writer.array(request.topics.indices) { writer, topicIndex in
            let topic = request.topics[topicIndex]
            writer.string(topic.topic)
            writer.array(topic.partitions.indices) { writer, index in
                let partition = topic.partitions[index]
                writer.int32(partition.index)
                let log = parked.targets[topicIndex][index]
                guard let log, parked.error(topic: topicIndex, partition: index) == nil else {
                    let error = parked.error(topic: topicIndex, partition: index) ?? .unknownTopicOrPartition
                    return writeEmpty(error: error, log: log, to: &writer, version: version)
                }
                writeRecords(
                    of: partition, from: log, answering: request, room: &room, to: &writer, version: version)
            }
        }
        return room
    }

    static func error(of partition: FetchRequest.Partition, in log: PartitionLog) -> ErrorCode? {
        if let error = LeaderEpoch.error(for: partition.leaderEpoch) { return error }
        guard partition.offset >= log.logStartOffset, partition.offset <= log.endOffset else {
            return .offsetOutOfRange
        }
        return nil
    }

    private static func writeRecords(
        of partition: FetchRequest.Partition, from log: PartitionLog, answering request: FetchRequest,
        room: inout FetchBudget,
        to writer: inout WireWriter, version: Int16
    ) {
        let start = writer.count
        writeHead(error: .none, log: log, to: &writer, version: version)
        let abortedOffset = writer.count
        writer.longLength(request.readsCommitted ? 0 : -1)
        if version >= 11 { writer.int32(-1) }
        let lengthOffset = writer.count
        writer.longLength(0)
        do throws(LogError) {
            let bytesMax = room.isFull ? 0 : min(Int(partition.bytesMax), room.bytesLeft)
            let result = try log.read(
                from: partition.offset, maxBytes: bytesMax, maxRecords: room.recordsLeft,
                committed: request.readsCommitted, atLeastOne: room.bytes == 0, into: &writer)
            writer.patch(int32: Int32(writer.count - lengthOffset - 4), at: lengthOffset)
            insert(result.aborted, at: abortedOffset, in: &writer)
            room.bytes += result.bytes
            room.bytesLeft -= result.bytes
            room.recordsLeft -= result.records
            let limit = request.readsCommitted ? result.lastStableOffset : result.highWatermark
            // Only after a record: a reader with an empty answer would ask again at once.
            if room.bytes > 0, result.nextOffset < limit { room.hasMore = true }
        } catch {
            writer.truncate(to: start)
            writeEmpty(error: error.code, log: log, to: &writer, version: version)
        }
    }

    private static func writeEmpty(
        error: ErrorCode, log: PartitionLog?, to writer: inout WireWriter, version: Int16
    ) {
        writeHead(error: error, log: log, to: &writer, version: version)
        writer.longLength(-1)
        if version >= 11 { writer.int32(-1) }
        writer.longLength(0)
    }

    private static func writeHead(
        error: ErrorCode, log: PartitionLog?, to writer: inout WireWriter, version: Int16
    ) {
        writer.error(error)
        writer.int64(log?.highWatermark ?? -1)
        writer.int64(log?.lastStableOffset ?? -1)
        if version >= 5 { writer.int64(log?.logStartOffset ?? -1) }
    }

    /// Inserts the aborted transactions in front of the records. They are known only after the read, so
    /// in this rare case the records move.
    private static func insert(
        _ aborted: [AbortedTransaction], at offset: Int, in writer: inout WireWriter
    ) {
        guard !aborted.isEmpty else { return }
        var list = WireWriter(capacity: aborted.count * 16)
        for transaction in aborted {
            list.int64(transaction.producerID)
            list.int64(transaction.firstOffset)
        }
        writer.patch(int32: Int32(aborted.count), at: offset)
        unsafe list.withBytes { unsafe writer.insert($0, at: offset + 4) }
    }
}

/// The check of a client's leader epoch. There is one leader for ever, so a larger epoch comes from
/// another cluster.
enum LeaderEpoch {
    static func error(for epoch: Int32) -> ErrorCode? {
        epoch > Node.leaderEpoch ? .unknownLeaderEpoch : nil
    }
}
