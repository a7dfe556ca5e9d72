package import Lifecycle

/// How long each partition's last stable offset has stood still below its end: the sign of a
/// transaction that somebody left open, behind which readers of committed records wait.
package struct StableOffsetAges: Sendable {
    private var stuck: [TopicPartition: (offset: Int, since: Instant)] = [:]

    package init() {}

    /// Seconds for every partition that is stuck now.
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
