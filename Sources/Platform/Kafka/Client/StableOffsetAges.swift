package import Lifecycle

/// The time for which each partition's last stable offset has stood still below its end. Such a partition has
/// an open transaction, and readers of committed records wait behind it.
package struct StableOffsetAges: Sendable {
    private var stuck: [TopicPartition: (offset: Int, since: Instant)] = [:]

    package init() {}

    /// Returns the seconds for every partition that is stuck now.
    package mutating func update(
        _ partitions: [TopicPartition: Statistics.Partition], at now: Instant
    ) -> [TopicPartition: Double] {
        var next: [TopicPartition: (offset: Int, since: Instant)] = [:]
        var ages: [TopicPartition: Double] = [:]
        for (partition, state) in partitions {
            guard let stable = state.stable, let high = state.high, stable < high else { continue }
            let before = stuck[partition].flatMap { $0.offset == stable ? $0 : nil }
            let since = before?.since ?? now
            next[partition] = (stable, since)
            ages[partition] = now.seconds(since: since)
        }
        stuck = next
        return ages
    }
}
