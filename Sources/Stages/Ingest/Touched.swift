/// The rows of an installation that a report or the passage of time may have changed. Untouched rows are not
/// compared. An extra touched row costs time. A missing one loses a change.
struct Touched: Sendable {
    /// Indices of the installation's start tokens and of its activities.
    private(set) var starts = Indices()
    private(set) var activities = Indices()
    /// Whether profile values other than the time may have changed.
    private(set) var profile = false
    /// Whether a value changed that all rows depend on. The indices do not matter then.
    private(set) var everything = false

    static var all: Touched {
        var touched = Touched()
        touched.touchEverything()
        return touched
    }

    mutating func touchStart(_ index: Int) { starts.insert(index) }
    mutating func touchActivity(_ index: Int) { activities.insert(index) }
    mutating func touchProfile() { profile = true }
    mutating func touchEverything() { everything = true }

    func hasActivity(_ index: Int) -> Bool { everything || activities.contains(index) }

    /// A set of small numbers. The limits of an installation's entries keep the numbers below 64.
    struct Indices: Sendable, Sequence, IteratorProtocol {
        private var bits: UInt64 = 0

        mutating func insert(_ index: Int) {
            precondition(index < UInt64.bitWidth, "index \(index) exceeds the entry limit of an installation")
            bits |= 1 << UInt64(index)
        }

        func contains(_ index: Int) -> Bool { index < UInt64.bitWidth && bits & 1 << UInt64(index) != 0 }

        mutating func next() -> Int? {
            if bits == 0 { return nil }
            defer { bits &= bits - 1 }
            return bits.trailingZeroBitCount
        }
    }
}
