internal import CRdKafka

/// A counter of the records that a reader takes. It tells when to wake the library's fetching, for a reader
/// that is faster than the library fetches ahead.
///
/// If its queue is full, the library stops fetching. It checks the queue again only when something wakes the
/// broker's thread. Taking records does not wake the thread, so the check comes up to a second later. A
/// reader with a limit of a few megabytes would read only those few megabytes a second. Any request wakes the
/// thread.
struct FetchWakeupCounter {
    /// The fraction of the queue's limits after which the thread is woken. The queue is not empty yet then.
    private static let limitDivisor = 4

    private let bytesPerWakeup: Int
    private let recordsPerWakeup: Int
    private var bytesTaken = 0
    private var recordsTaken = 0

    init(prefetchKibibytesMax: Int, prefetchRecordsMax: Int) {
        bytesPerWakeup = (prefetchKibibytesMax << 10) / Self.limitDivisor
        recordsPerWakeup = prefetchRecordsMax / Self.limitDivisor
    }

    /// Notes the amount that was taken from the queue.
    ///
    /// - Returns: Whether to wake the library.
    mutating func recordTaken(bytes: Int, records: Int) -> Bool {
        bytesTaken += bytes
        recordsTaken += records
        guard bytesTaken >= bytesPerWakeup || recordsTaken >= recordsPerWakeup else { return false }
        (bytesTaken, recordsTaken) = (0, 0)
        return true
    }
}

extension Consumer {
    /// Wakes the threads of all brokers that lead an assigned partition.
    func wakeFetching() {
        var assignment: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>?
        guard unsafe rd_kafka_assignment(client.pointer, &assignment) == RD_KAFKA_RESP_ERR_NO_ERROR,
            let assignment = unsafe assignment
        else { return }
        let list = unsafe PartitionList(adopting: assignment)
        if list.count > 0 { client.wakeBrokers(leading: list) }
    }
}

extension KafkaClient {
    /// Wakes the threads of the brokers that lead these partitions. It asks them for the end of each
    /// partition, without waiting, and ignores the answer.
    func wakeBrokers(leading partitions: borrowing PartitionList) {
        for index in 0..<partitions.count {
            unsafe partitions.pointer.pointee.elems[index].offset = Int64(RD_KAFKA_OFFSET_END)
        }
        _ = unsafe rd_kafka_offsets_for_times(pointer, partitions.pointer, 0)
    }
}
