internal import Lifecycle

/// The partitions of a reader without a group that start at the beginning or the end of their log, and whose offset
/// is not known yet. The reader starts them when the cluster has returned their offsets. The reader is a `Consumer`
/// without a group, or a `PartitionReader`.
///
/// The library could look up these positions itself. But if its answer comes after the partition has stopped and
/// started elsewhere, the library asks again half a second later, and moves the partition there (librdkafka 2.0.2).
/// Then records come twice or never. So the library only gets offsets, and a late answer to this value is dropped.
struct PositionLookups {
    /// The pause before the positions are asked for again after a failure.
    private static let retryMilliseconds = 250

    private var positions: [TopicPartition: PartitionStart.Position] = [:]
    /// The partitions that a query asks for, by its number. The newest query of a partition counts.
    private var queries: [TopicPartition: OffsetQueryID] = [:]
    private var nextQuery = Instant(nanoseconds: 0)

    /// Adds a partition. An earlier look-up of it is forgotten.
    mutating func add(_ start: PartitionStart) {
        positions[start.partition] = start.position
        queries[start.partition] = nil
    }

    /// Forgets a partition, because it starts elsewhere or is paused. Returns its position if the offset was not known.
    mutating func remove(_ partition: TopicPartition) -> PartitionStart.Position? {
        queries[partition] = nil
        return positions.removeValue(forKey: partition)
    }

    mutating func removeAll() { self = PositionLookups() }

    /// Asks for the positions of all partitions that no query asks for.
    mutating func submitDueQuery(at now: Instant, with submit: (OffsetQuery) -> OffsetQueryID) {
        guard queries.count < positions.count, now >= nextQuery else { return }
        let unasked = positions.keys.filter { queries[$0] == nil }
        let id = submit(.watermarks(unasked))
        for partition in unasked { queries[partition] = id }
    }

    /// Takes a result of a query. Returns the partitions that can start now, or nil if the query is not a look-up, or a
    /// newer one has replaced it.
    mutating func take(_ result: OffsetQueryResult, of id: OffsetQueryID, at now: Instant)
        -> [PartitionStart]?
    {
        switch result {
        case .watermarks(let watermarks):
            let asked = watermarks.filter { queries[$0.key] == id }
            if asked.isEmpty { return nil }
            var starts: [PartitionStart] = []
            for (partition, watermarks) in asked {
                queries[partition] = nil
                guard let position = positions.removeValue(forKey: partition) else { continue }
                starts.append(
                    PartitionStart(partition: partition, position: .offset(position.resolved(in: watermarks)))
                )
            }
            return starts
        case .failed(let partitions, _):
            let asked = partitions.filter { queries[$0] == id }
            if asked.isEmpty { return nil }
            for partition in asked { queries[partition] = nil }
            nextQuery = now.advanced(byMilliseconds: Self.retryMilliseconds)
            return []
        case .committedOffsets, .firstRecords: return nil
        }
    }
}

extension PartitionStart.Position {
    /// Returns the offset of the position in a partition with these watermarks.
    fileprivate func resolved(in watermarks: Watermarks) -> Int64 {
        switch self {
        case .offset(let offset): offset
        case .beginning: watermarks.low
        case .end: watermarks.high
        }
    }
}
