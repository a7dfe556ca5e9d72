internal import Synchronization

/// The partitions whose records failed since they were last taken. The library's threads add to it, and only when a
/// record fails.
final class UndeliveredPartitions: Sendable {
    private let partitions = Mutex<Set<TopicPartition>>([])

    func add(_ partition: TopicPartition) {
        _ = partitions.withLock { $0.insert(partition) }
    }

    /// Returns the partitions, and forgets them.
    func takeAll() -> Set<TopicPartition> {
        partitions.withLock { partitions in
            defer { partitions = [] }
            return partitions
        }
    }
}
