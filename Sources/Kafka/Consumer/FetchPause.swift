internal import CRdKafka

/// What keeps the library fetching for a reader that is quicker than what is fetched ahead for it.
///
/// With its queue at the bound the library stops fetching, and it looks again only when something wakes the broker's
/// thread: records that are taken do not, and so it is up to a second later. A reader of state that has a bound of a few
/// megabytes would read no more than those a second. Any request wakes the thread; nobody waits for this one's answer.
struct FetchPause {
    /// Of the bound: the queue is not empty by then.
    private static let share = 4

    private let bytesMax: Int
    private let recordsMax: Int
    private var bytesTaken = 0
    private var recordsTaken = 0

    init(prefetchKibibytesMax: Int, prefetchRecordsMax: Int) {
        bytesMax = prefetchKibibytesMax << 10 / Self.share
        recordsMax = prefetchRecordsMax / Self.share
    }

    /// So much was taken from the queue.
    ///
    /// - Returns: whether the library is to be woken.
    mutating func took(bytes: Int, records: Int) -> Bool {
        bytesTaken += bytes
        recordsTaken += records
        guard bytesTaken >= bytesMax || recordsTaken >= recordsMax else { return false }
        (bytesTaken, recordsTaken) = (0, 0)
        return true
    }
}

extension Consumer {
    /// Asks the leaders of all that is read where it ends, and does not wait.
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
