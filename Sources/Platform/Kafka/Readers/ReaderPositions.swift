internal import Lifecycle

/// The partitions of a reader, with the state of each. A pure value: the reader calls the library.
///
/// The library never looks up a beginning or an end itself. If a partition is stopped and started elsewhere
/// before the answer comes, librdkafka 2.0.2 asks again and moves the partition there. Here an answer is
/// dropped if its partition does not wait for it any more.
struct ReaderPositions {
    /// The pause before a failed look-up is repeated.
    static let lookupRetryMilliseconds = 500

    private enum PartitionState: Equatable {
        /// The offset of the beginning or the end is being looked up.
        case lookingUp(PartitionStart.Position)
        /// The library reads the partition. It began at this offset.
        case reading(from: Int64)
        case paused(PartitionStart.Position)
    }

    private var states: [Int32: PartitionState] = [:]
    /// The newest look-up. Its answer starts the partitions that are still being looked up.
    var lookup: OffsetQueryID?
    private var nextLookup: Instant?

    /// The partitions that the library reads.
    var readPartitions: [Int32] {
        states.compactMap { if case .reading = $0.value { $0.key } else { nil } }.sorted()
    }

    var partitionsWithoutOffset: [Int32] {
        states.compactMap { if case .lookingUp = $0.value { $0.key } else { nil } }.sorted()
    }

    func isReading(_ partition: Int32) -> Bool {
        if case .reading = states[partition] { true } else { false }
    }

    /// The offset at which the partition began.
    func startOffset(of partition: Int32) -> Int64 {
        if case .reading(let offset) = states[partition] { offset } else { 0 }
    }

    mutating func recordStart(of partition: Int32, at offset: Int64) {
        states[partition] = .reading(from: offset)
    }

    mutating func recordLookup(of partition: Int32, position: PartitionStart.Position) {
        states[partition] = .lookingUp(position)
    }

    mutating func pause(_ partition: Int32, at offset: Int64) { states[partition] = .paused(.offset(offset)) }

    /// Pauses a partition whose offset is being looked up. It is looked up again when it continues.
    mutating func pauseLookup(of partition: Int32) {
        if case .lookingUp(let position) = states[partition] { states[partition] = .paused(position) }
    }

    /// Returns the position at which a paused partition continues, or nil if it is not paused.
    func resume(_ partition: Int32) -> PartitionStart.Position? {
        if case .paused(let position) = states[partition] { position } else { nil }
    }

    mutating func removeAll() {
        states = [:]
        lookup = nil
        nextLookup = nil
    }

    // MARK: Look-ups

    /// Returns the offset at which a partition starts, or nil if it does not wait for it any more.
    func startOffset(of partition: Int32, between bounds: Watermarks) -> Int64? {
        switch states[partition] {
        case .lookingUp(.beginning): bounds.low
        case .lookingUp(.end): bounds.high
        case .lookingUp(.offset), .reading, .paused, nil: nil
        }
    }

    mutating func recordFailedLookup(at now: Instant) {
        nextLookup = now.advanced(byMilliseconds: Self.lookupRetryMilliseconds)
    }

    /// Returns whether a failed look-up must be repeated now.
    mutating func takeDueLookup(at now: Instant) -> Bool {
        guard let dueAt = nextLookup, now >= dueAt else { return false }
        nextLookup = nil
        return true
    }
}
