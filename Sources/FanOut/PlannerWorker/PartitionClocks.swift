internal import Lifecycle

/// The cluster's time in each partition, as far as the stamps on records prove it: never later than it is.
/// This machine's wall clock has no say: what waits for a time waits for the cluster's.
struct PartitionClocks {
    /// What can be counted with.
    private static let stamps: ClosedRange<Int64> = 0...1 << 53

    /// The cluster's time less the steady clock, at least; milliseconds.
    private var least: [Int32: Int64] = [:]

    /// A record with this stamp is in the partition.
    mutating func saw(_ stamp: Int64, in partition: Int32, at now: Instant) {
        guard Self.stamps.contains(stamp) else { return }
        let difference = stamp - Self.steady(now)
        least[partition] = max(least[partition] ?? difference, difference)
    }

    /// Milliseconds since 1970; nil while nothing is known.
    func time(in partition: Int32, at now: Instant) -> Int64? {
        least[partition].map { $0 + Self.steady(now) }
    }

    mutating func keep(_ partitions: some Collection<Int32>) {
        least = least.filter { partitions.contains($0.key) }
    }

    private static func steady(_ now: Instant) -> Int64 { now.nanoseconds / 1_000_000 }
}
