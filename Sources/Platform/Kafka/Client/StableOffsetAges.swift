package import Lifecycle

/// The time for which each partition's last stable offset has stood still below its end. Such a partition has
/// an open transaction, and readers of committed records wait behind it.
package struct StableOffsetAges: Sendable {
    private var stuckOffsets: [TopicPartition: (offset: Int, since: Instant)] = [:]

    package init() {}

    /// Returns the seconds for every partition that is stuck now.
    package mutating func update(
        with partitions: [TopicPartition: ClientStatistics.PartitionStatistics], at now: Instant
    ) -> [TopicPartition: Double] {
        var next: [TopicPartition: (offset: Int, since: Instant)] = [:]
        var ages: [TopicPartition: Double] = [:]
        for (partition, state) in partitions {
            guard let stable = state.lastStableOffset, let high = state.highWatermark, stable < high else {
                continue
            }
            let before = stuckOffsets[partition].flatMap { $0.offset == stable ? $0 : nil }
            let since = before?.since ?? now
            next[partition] = (stable, since)
            ages[partition] = now.seconds(since: since)
        }
        stuckOffsets = next
        return ages
    }
}
