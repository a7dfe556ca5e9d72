package import Lifecycle

/// The time for which each partition's last stable offset has stood still below the high watermark. Such a
/// partition has an open transaction, and readers of committed records wait behind it.
package struct StableOffsetAges: Sendable {
    private typealias StuckOffset = (offset: Int, since: Instant)
    private var stuckOffsets: [TopicPartition: StuckOffset] = [:]

    package init() {}

    /// Returns the seconds for every partition that is stuck now.
    package mutating func update(
        with partitions: [TopicPartition: ClientStatistics.PartitionStatistics], at now: Instant
    ) -> [TopicPartition: Double] {
        var stillStuck: [TopicPartition: StuckOffset] = [:]
        var ages: [TopicPartition: Double] = [:]
        for (partition, statistics) in partitions {
            guard let stableOffset = statistics.lastStableOffset,
                let highWatermark = statistics.highWatermark,
                stableOffset < highWatermark
            else { continue }
            var since = now
            if let previous = stuckOffsets[partition], previous.offset == stableOffset {
                since = previous.since
            }
            stillStuck[partition] = (stableOffset, since)
            ages[partition] = now.seconds(since: since)
        }
        stuckOffsets = stillStuck
        return ages
    }
}
