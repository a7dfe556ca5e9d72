/// The registry rows of an installation that a report or the passage of time may have changed. Only these are compared
/// with the rows before. An extra row costs time. A missing row loses a change.
struct AffectedRows: Sendable {
    /// Indices of the installation's start tokens and of its activities.
    private(set) var startTokens = EntryIndices()
    private(set) var activities = EntryIndices()
    /// Whether profile values other than the time may have changed.
    private(set) var includesProfile = false
    /// Whether a value changed that all rows depend on. The indices do not matter then.
    private(set) var includesAll = false

    static var all: AffectedRows {
        var rows = AffectedRows()
        rows.insertAll()
        return rows
    }

    mutating func insertStartToken(at index: Int) { startTokens.insert(index) }
    mutating func insertActivity(at index: Int) { activities.insert(index) }
    mutating func insertProfile() { includesProfile = true }
    mutating func insertAll() { includesAll = true }

    func containsActivity(at index: Int) -> Bool { includesAll || activities.contains(index) }

    /// A set of indices, stored as bits. An installation has at most 50 start tokens and 50 activities, so that the
    /// indices are below 64.
    struct EntryIndices: Sendable, Sequence, IteratorProtocol {
        private var bits: UInt64 = 0

        mutating func insert(_ index: Int) {
            precondition(index < UInt64.bitWidth, "index \(index) exceeds the entry limit of an installation")
            bits |= 1 << UInt64(index)
        }

        func contains(_ index: Int) -> Bool { index < UInt64.bitWidth && bits & 1 << UInt64(index) != 0 }

        mutating func next() -> Int? {
            if bits == 0 { return nil }
            let lowestIndex = bits.trailingZeroBitCount
            // Clears the lowest set bit.
            bits &= bits - 1
            return lowestIndex
        }
    }
}
