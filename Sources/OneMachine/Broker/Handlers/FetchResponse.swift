/// The encoder of a Fetch answer, which reads the records from the logs directly into the answer.
enum FetchResponse {
    /// Writes an answer with an error for the whole request, and without topics.
    static func writeError(_ error: ErrorCode, to writer: inout WireWriter, version: Int16) {
        writeStart(error: error, to: &writer, version: version)
        writer.longLength(0)  // responses
    }

    /// The bytes in one answer, and the bytes and records that still fit.
    struct FetchBudget {
        fileprivate var bytesLeft: Int
        fileprivate var recordsLeft: Int64
        /// Bytes of the batches in the answer.
        fileprivate(set) var byteCount = 0

        /// Whether the answer has reached a limit of the client or of the broker. Then `FetchHandler` does not wait for
        /// more records, because they would not fit.
        var isFull: Bool { bytesLeft <= 0 || recordsLeft <= 0 }
        /// Whether a partition has records behind those in the answer, because its segment ended or the next batch did
        /// not fit. The client gets them by its next request, so `FetchHandler` does not wait.
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
        writeStart(error: .none, to: &writer, version: version)
        var budget = FetchBudget(
            bytesLeft: min(Int(request.bytesMax), limits.fetchBytesMax), recordsLeft: limits.fetchRecordsMax)
        writer.array(request.topics.indices) { writer, topicIndex in
            let topic = request.topics[topicIndex]
            writer.string(topic.topic)
            writer.array(topic.partitions.indices) { writer, index in
                let partition = topic.partitions[index]
                writer.int32(partition.index)
                let log = parked.targets[topicIndex][index]
                let error = parked.error(topic: topicIndex, partition: index)
                guard let log, error == nil else {
                    return writeEmpty(
                        error: error ?? .unknownTopicOrPartition, log: log, to: &writer, version: version)
                }
                writeRecords(
                    of: partition, from: log, answering: request, budget: &budget, to: &writer,
                    version: version)
            }
        }
        return budget
    }

    /// Returns the error of a partition's request: its epoch or its offset is wrong.
    static func error(of partition: FetchRequest.Partition, in log: PartitionLog) -> ErrorCode? {
        if let error = LeaderEpoch.error(for: partition.leaderEpoch) { return error }
        guard partition.offset >= log.logStartOffset, partition.offset <= log.endOffset else {
            return .offsetOutOfRange
        }
        return nil
    }

    /// Writes the fields in front of the topics.
    private static func writeStart(error: ErrorCode, to writer: inout WireWriter, version: Int16) {
        writer.zeroThrottleTime()
        if version >= 7 {
            writer.error(error)
            writer.int32(0)  // session_id: none
        }
    }

    /// Writes one partition. Its length and its aborted transactions are known only after the read, and are
    /// filled in then.
    private static func writeRecords(
        of partition: FetchRequest.Partition, from log: PartitionLog, answering request: FetchRequest,
        budget: inout FetchBudget,
        to writer: inout WireWriter, version: Int16
    ) {
        let start = writer.count
        writeHead(error: .none, log: log, to: &writer, version: version)
        let abortedPosition = writer.count
        writer.longLength(request.readsCommitted ? 0 : -1)  // aborted_transactions
        if version >= 11 { writer.int32(-1) }  // preferred_read_replica
        let recordsPosition = writer.count
        writer.longLength(0)  // records
        do throws(LogError) {
            // A full answer takes no further batch. An empty answer takes its first batch in spite of the limits
            // (`atLeastOne`).
            let bytesMax = budget.isFull ? 0 : min(Int(partition.bytesMax), budget.bytesLeft)
            let result = try log.read(
                from: partition.offset, maxBytes: bytesMax, maxRecords: budget.recordsLeft,
                committed: request.readsCommitted, atLeastOne: budget.byteCount == 0, into: &writer)
            let recordsLength = writer.count - recordsPosition - lengthSize
            writer.patch(int32: Int32(recordsLength), at: recordsPosition)
            insert(result.abortedTransactions, at: abortedPosition, in: &writer)
            budget.byteCount += result.byteCount
            budget.bytesLeft -= result.byteCount
            budget.recordsLeft -= result.recordCount
            let endOfRead = request.readsCommitted ? result.lastStableOffset : result.highWatermark
            // An empty answer has to wait even if there is more. Without a wait, its reader would ask again and again.
            if budget.byteCount > 0, result.nextOffset < endOfRead { budget.hasMore = true }
        } catch {
            writer.truncate(to: start)
            writeEmpty(error: error.code, log: log, to: &writer, version: version)
        }
    }

    /// Size of the length of an array or of records. All offered versions of Fetch have the classic encoding.
    private static let lengthSize = 4

    /// Writes a partition without records.
    private static func writeEmpty(
        error: ErrorCode, log: PartitionLog?, to writer: inout WireWriter, version: Int16
    ) {
        writeHead(error: error, log: log, to: &writer, version: version)
        writer.longLength(-1)  // aborted_transactions
        if version >= 11 { writer.int32(-1) }  // preferred_read_replica
        writer.longLength(0)  // records
    }

    /// Writes the fields of a partition behind its index and in front of its aborted transactions.
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
        _ aborted: [AbortedTransaction], at position: Int, in writer: inout WireWriter
    ) {
        guard !aborted.isEmpty else { return }
        let transactionSize = 16
        var list = WireWriter(capacity: aborted.count * transactionSize)
        for transaction in aborted {
            list.int64(transaction.producerID)
            list.int64(transaction.firstOffset)
        }
        writer.patch(int32: Int32(aborted.count), at: position)
        unsafe list.withBytes { unsafe writer.insert($0, at: position + lengthSize) }
    }
}

/// The check of a client's leader epoch. The epoch of this broker never changes, so a larger one comes from
/// another cluster.
enum LeaderEpoch {
    static func error(for epoch: Int32) -> ErrorCode? {
        epoch > Node.leaderEpoch ? .unknownLeaderEpoch : nil
    }
}
