internal import Kafka
internal import Lifecycle

/// The partitions that wait alone, because their committed offset is out of range: Kafka no longer has their next record.
/// Each waits until the reason is known (`OffsetGap.Assessment`), and perhaps until an operator decides.
struct WaitingPartitions {
    /// The pause between two checks of a partition.
    static let recheckMilliseconds = 10_000

    struct WaitingPartition {
        /// The query whose answer has not come yet.
        var pendingQuery: OffsetQueryID?
        /// The gap that was logged last, so that it is logged once.
        var lastReported: OffsetGap?
        var nextCheck: Instant
    }

    var byPartition: [TopicPartition: WaitingPartition] = [:]

    func partition(forQuery id: OffsetQueryID) -> TopicPartition? {
        byPartition.first { $0.value.pendingQuery == id }?.key
    }
}
