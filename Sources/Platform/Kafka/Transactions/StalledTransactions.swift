internal import Lifecycle

/// The transactional ids of a loop, and those whose last transaction cannot end.
///
/// Apache Kafka ends a transaction when its marker is in every partition that it wrote to. A partition without a
/// leader, or with fewer replicas than `min.insync.replicas`, takes no marker. Until it does, Kafka refuses the next
/// transaction of the same id, also for all other partitions. So the loop uses another id. When the stalled id
/// can be used again, its partitions take records again.
struct StalledTransactions {
    /// The number of ids of a loop. Number 0 is the usual one. If all are stalled, the loop waits.
    static let idCount = 4
    /// The pauses before a partition is written to again, after its first failures in a row.
    static let pausesMilliseconds = [1000, 2000, 5000, 10_000]
    /// A partition that was written to for this long begins with the first pause again. The time for which it took no
    /// records does not count.
    static let resetAfterMilliseconds = 60_000

    struct Stall: Equatable {
        let id: Int
        /// The partitions that did not take the records of the transaction.
        let partitions: Set<TopicPartition>
        /// The earliest time to write to the partitions again.
        let retryAt: Instant
        /// Whether the transaction has ended, so that the id can be used.
        var hasEnded = false
    }

    private struct Failures {
        var count: Int
        /// The time from which the partition is written to again. Nil while it takes no records.
        var recoveredAt: Instant?

        func areOver(at now: Instant) -> Bool {
            recoveredAt.map { now.milliseconds(since: $0) >= StalledTransactions.resetAfterMilliseconds }
                ?? false
        }
    }

    /// The number of the id in use.
    private(set) var currentID = 0
    private(set) var stalls: [Stall] = []
    /// The partitions that take no records now.
    private(set) var partitions: Set<TopicPartition> = []
    private var failures: [TopicPartition: Failures] = [:]

    /// Sets the current id aside, and moves to a free one. Returns false if no id is free.
    mutating func stallCurrentID(undelivered: Set<TopicPartition>, at now: Instant) -> Bool {
        let usedIDs = Set(stalls.map(\.id) + [currentID])
        guard let freeID = (0..<Self.idCount).first(where: { !usedIDs.contains($0) }) else { return false }
        failures = failures.filter { !$0.value.areOver(at: now) }
        var pause = 0
        for partition in undelivered {
            let count = failures[partition]?.count ?? 0
            pause = max(pause, Self.pausesMilliseconds[min(count, Self.pausesMilliseconds.count - 1)])
            failures[partition] = Failures(count: count + 1)
        }
        stalls.append(
            Stall(id: currentID, partitions: undelivered, retryAt: now.advanced(byMilliseconds: pause)))
        partitions.formUnion(undelivered)
        currentID = freeID
        return true
    }

    /// Notes that the transaction of an id has ended.
    mutating func markEnded(_ id: Int) {
        for index in stalls.indices where stalls[index].id == id { stalls[index].hasEnded = true }
    }

    /// Returns the stalls that are over, and forgets them. The lowest id that is free then becomes the current one.
    mutating func takeRecovered(at now: Instant) -> [Stall] {
        let recovered = stalls.filter { $0.hasEnded && now >= $0.retryAt }
        guard !recovered.isEmpty else { return [] }
        stalls.removeAll { stall in recovered.contains { $0.id == stall.id } }
        partitions = stalls.reduce(into: []) { $0.formUnion($1.partitions) }
        for stall in recovered {
            currentID = min(currentID, stall.id)
            for partition in stall.partitions.subtracting(partitions) {
                failures[partition]?.recoveredAt = now
            }
        }
        return recovered
    }
}
