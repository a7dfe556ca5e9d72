/// The partitions of a reader that the library reads, and those that are paused. A pure value: the reader calls the
/// library. The partitions whose offset is not known yet are in the reader's `PositionLookups`.
struct ReaderPositions {
    private enum PartitionState: Equatable {
        /// The library reads the partition. It began at this offset.
        case reading(from: Int64)
        case paused(PartitionStart.Position)
    }

    private var states: [Int32: PartitionState] = [:]

    /// The partitions that the library reads.
    var readPartitions: [Int32] {
        states.compactMap { if case .reading = $0.value { $0.key } else { nil } }.sorted()
    }

    func isReading(_ partition: Int32) -> Bool {
        if case .reading = states[partition] { true } else { false }
    }

    /// The offset at which the partition began.
    func startOffset(of partition: Int32) -> Int64 {
        if case .reading(let offset) = states[partition] { offset } else { 0 }
    }

    /// Returns the position at which a paused partition continues, or nil if it is not paused.
    func pausedPosition(of partition: Int32) -> PartitionStart.Position? {
        if case .paused(let position) = states[partition] { position } else { nil }
    }

    mutating func recordStart(of partition: Int32, at offset: Int64) {
        states[partition] = .reading(from: offset)
    }

    mutating func recordPause(of partition: Int32, at position: PartitionStart.Position) {
        states[partition] = .paused(position)
    }

    /// Forgets a partition, because it starts again elsewhere.
    mutating func remove(_ partition: Int32) { states[partition] = nil }

    mutating func removeAll() { states = [:] }
}
