/// The memory of the sheets in hand, and the topics for which there is room. If a topic has no room, its partitions are
/// paused. A full memory counts as full until half of the limit is free, so that the pauses do not alternate quickly.
///
/// There are three limits: `bytesMax` for all sheets, a quarter of it for the sheets of tiers, and a quarter more than
/// it for urgent sheets.
struct SheetMemory: Sendable {
    /// Divisor for the share of tiers. They have a limit because the sheets of an app in trouble come back
    /// through them again and again.
    private static let shareOfTiers = 4
    /// Divisor for the part that urgent sheets have above the limit.
    private static let extraShareOfUrgent = 4

    private let bytesMax: Int
    /// Memory of all sheets.
    private(set) var byteCount = 0
    /// Memory of the sheets of tiers.
    private var byteCountOfTiers = 0

    // MARK: Limits that are reached

    private var isFull = false
    private var isFullForUrgent = false
    private var isFullOfTiers = false

    init(bytesMax: Int) { self.bytesMax = bytesMax }

    /// Adds the memory of a sheet.
    mutating func add(_ sheetByteCount: Int, of topic: JobTopic) {
        byteCount += sheetByteCount
        if topic.tier != nil { byteCountOfTiers += sheetByteCount }
    }

    /// Subtracts the memory of a sheet.
    mutating func remove(_ sheetByteCount: Int, of topic: JobTopic) {
        byteCount -= sheetByteCount
        if topic.tier != nil { byteCountOfTiers -= sheetByteCount }
    }

    /// Compares the memory with the limits. Returns whether `isFull` may have changed for a topic.
    mutating func updateLimits() -> Bool {
        let before = (isFull, isFullForUrgent, isFullOfTiers)
        isFull = Self.isFull(wasFull: isFull, byteCount: byteCount, max: bytesMax)
        isFullOfTiers = Self.isFull(
            wasFull: isFullOfTiers, byteCount: byteCountOfTiers, max: bytesMax / Self.shareOfTiers)
        isFullForUrgent = byteCount > bytesMax + bytesMax / Self.extraShareOfUrgent
        return before != (isFull, isFullForUrgent, isFullOfTiers)
    }

    /// Returns whether there is no room for more sheets of a topic.
    func isFull(for topic: JobTopic) -> Bool {
        switch topic {
        case .urgent: isFullForUrgent
        case .normal: isFull
        case .later5s, .later2m: isFull || isFullOfTiers
        }
    }

    /// Returns whether the limit is reached, or was reached and half of it is not free yet.
    private static func isFull(wasFull: Bool, byteCount: Int, max: Int) -> Bool {
        wasFull ? byteCount * 2 >= max : byteCount > max
    }
}
