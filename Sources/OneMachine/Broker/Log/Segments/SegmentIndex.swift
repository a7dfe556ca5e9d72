/// The sparse index of one segment. For about every 32 KiB it has one entry, with the offset and position
/// of a batch and the largest timestamp in front of it. So one table finds both offsets and times.
struct SegmentIndex: Equatable, Sendable {
    /// One batch of the segment.
    struct Entry: Equatable, Sendable {
        /// The batch's base offset less the segment's.
        var relativeOffset: UInt32
        /// The batch's position in the file.
        var position: UInt32
        /// The largest timestamp of the batches in front of this one.
        var maxTimestampBefore: Int64
    }

    /// Bytes of log between two entries.
    static let interval = 32 << 10

    private(set) var entries: [Entry] = []
    /// A batch from this position on gets the next entry.
    private var nextPosition = 0

    /// Adds a batch if it is far enough from the last entry, or if it is the first one behind damaged bytes, which
    /// a reader cannot reach from the batch before. Must be called for all batches in order.
    /// `maxTimestampBefore` does not include the batch itself.
    mutating func add(
        relativeOffset: Int64, position: Int, maxTimestampBefore: Int64, isBehindDamage: Bool = false
    ) {
        guard isBehindDamage || position >= nextPosition else { return }
        nextPosition = position + Self.interval
        entries.append(
            Entry(
                relativeOffset: UInt32(relativeOffset), position: UInt32(position),
                maxTimestampBefore: maxTimestampBefore))
    }

    init() {}

    init(entries: [Entry]) {
        self.entries = entries
        nextPosition = entries.last.map { Int($0.position) + Self.interval } ?? 0
    }

    /// Returns the last entry for which `isBefore` holds. It must hold for a prefix of the entries.
    private func last(where isBefore: (Entry) -> Bool) -> Entry? {
        var low = 0
        var high = entries.count
        while low < high {
            let middle = (low + high) / 2
            if isBefore(entries[middle]) { low = middle + 1 } else { high = middle }
        }
        return low == 0 ? nil : entries[low - 1]
    }

    /// Returns the entry from which to search the batch that holds an offset.
    func floor(relativeOffset: Int64) -> Entry? {
        last { Int64($0.relativeOffset) <= relativeOffset }
    }

    /// Returns the entry from which to search the first batch with a timestamp of `time` or later.
    func start(forTime time: Int64) -> Entry? {
        last { $0.maxTimestampBefore < time }
    }
}
