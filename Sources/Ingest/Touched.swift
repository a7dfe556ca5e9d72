/// Which of an installation's rows a report, or time, may have changed: what is not touched is not looked
/// at. To touch too much costs time; to touch too little loses a change.
struct Touched: Sendable {
    /// Indices among the installation's start tokens, and among its activities.
    private(set) var starts = Indices()
    private(set) var activities = Indices()
    /// What a profile says, its time apart.
    private(set) var profile = false
    /// Something that all rows depend on, or the indices of what was touched.
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

    /// A set of small numbers, as many as an installation has entries of a kind.
    struct Indices: Sendable, Sequence, IteratorProtocol {
        private var bits: UInt64 = 0

        mutating func insert(_ index: Int) {
            precondition(index < UInt64.bitWidth, "an installation has fewer entries of a kind")
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
