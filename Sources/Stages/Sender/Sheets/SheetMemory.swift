/// The memory of the sheets in hand, and the topics for which there is room. At a limit, reading of a topic pauses
/// until half of the limit is free.
struct SheetMemory: Sendable {
    /// Divisor for the share of tiers. They have a limit because the sheets of an app in trouble come back
    /// through them again and again.
    private static let shareOfTiers = 4
    /// Divisor for the part of the limit that urgent sheets have above it.
    private static let extraShareOfUrgent = 4

    private let bytesMax: Int
    private(set) var byteCount = 0
    private var bytesOfTiers = 0
    private var isFull = false
    private var isFullForUrgent = false
    private var isFullOfTiers = false

    init(bytesMax: Int) { self.bytesMax = bytesMax }

    mutating func add(_ bytes: Int, of topic: JobTopic) {
        self.byteCount += bytes
        if topic.tier != nil { bytesOfTiers += bytes }
    }

    mutating func remove(_ bytes: Int, of topic: JobTopic) {
        self.byteCount -= bytes
        if topic.tier != nil { bytesOfTiers -= bytes }
    }

    /// Compares the memory with the limits. Returns whether `isFull` may have changed for a topic.
    mutating func checkLimits() -> Bool {
        let before = (isFull, isFullForUrgent, isFullOfTiers)
        isFull = Self.isFull(was: isFull, bytes: byteCount, of: bytesMax)
        isFullOfTiers = Self.isFull(was: isFullOfTiers, bytes: bytesOfTiers, of: bytesMax / Self.shareOfTiers)
        isFullForUrgent = byteCount > bytesMax + bytesMax / Self.extraShareOfUrgent
        return before != (isFull, isFullForUrgent, isFullOfTiers)
    }

    /// Returns whether there is no room for more sheets of a topic. Urgent sheets have a quarter more than
    /// the others.
    func isFull(for topic: JobTopic) -> Bool {
        switch topic {
        case .urgent: isFullForUrgent
        case .normal: isFull
        case .later5s, .later2m: isFull || isFullOfTiers
        }
    }

    /// Returns whether the limit is reached, or was reached and half of it is not free yet.
    private static func isFull(was: Bool, bytes: Int, of bytesMax: Int) -> Bool {
        was ? bytes * 2 >= bytesMax : bytes > bytesMax
    }
}
