internal import CRdKafka

/// A counter that tells when to wake the library's fetching for a reader that is faster than its fetch-ahead.
///
/// If its queue is full, the library stops fetching. It checks again only when something wakes the broker's
/// thread. Taking records does not wake it, so the check comes up to a second later. A state reader with a
/// limit of a few megabytes would read only those few megabytes a second. Any request wakes the thread, and
/// this one's answer is ignored.
struct FetchWakeupCounter {
    /// The divisor of the limit. At that fraction the queue is not empty yet.
    private static let limitDivisor = 4

    private let bytesMax: Int
    private let recordsMax: Int
    private var bytesTaken = 0
    private var recordsTaken = 0

    init(prefetchKibibytesMax: Int, prefetchRecordsMax: Int) {
        bytesMax = prefetchKibibytesMax << 10 / Self.limitDivisor
        recordsMax = prefetchRecordsMax / Self.limitDivisor
    }

    /// Notes the amount that was taken from the queue.
    ///
    /// - Returns: Whether to wake the library.
    mutating func recordTaken(bytes: Int, records: Int) -> Bool {
        bytesTaken += bytes
        recordsTaken += records
        guard bytesTaken >= bytesMax || recordsTaken >= recordsMax else { return false }
        (bytesTaken, recordsTaken) = (0, 0)
        return true
    }
}

extension Consumer {
    /// Asks the leaders of all assigned partitions for the end offset, and does not wait.
    func wakeFetching() {
        var assigned: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>?
        guard unsafe rd_kafka_assignment(client.pointer, &assigned) == RD_KAFKA_RESP_ERR_NO_ERROR,
            let assigned = unsafe assigned
        else { return }
        let list = unsafe PartitionList(adopting: assigned)
        if list.count == 0 { return }
        for index in 0..<list.count {
            unsafe list.pointer.pointee.elems[index].offset = Int64(RD_KAFKA_OFFSET_END)
        }
        _ = unsafe rd_kafka_offsets_for_times(client.pointer, list.pointer, 0)
    }
}
