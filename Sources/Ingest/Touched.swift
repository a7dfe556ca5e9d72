/// Which of an installation's rows a report, or time, may have changed: what is not touched is not looked
/// at. To touch too much costs time; to touch too little loses a change.
struct Touched: Sendable {
    /// Places among the installation's start tokens, and among its activities.
    private(set) var starts = Places()
    private(set) var activities = Places()
    /// What a profile says, its time apart.
    private(set) var profile = false
    /// Something that all rows depend on, or the places themselves.
    private(set) var everything = false

    static var all: Touched {
        var touched = Touched()
        touched.touchEverything()
        return touched
    }

    mutating func touchStart(_ place: Int) { starts.insert(place) }
    mutating func touchActivity(_ place: Int) { activities.insert(place) }
    mutating func touchProfile() { profile = true }
    mutating func touchEverything() { everything = true }

    func hasActivity(_ place: Int) -> Bool { everything || activities.contains(place) }

    /// A set of small numbers, as many as an installation has entries of a kind.
    struct Places: Sendable, Sequence, IteratorProtocol {
        private var bits: UInt64 = 0

        mutating func insert(_ place: Int) {
            precondition(place < UInt64.bitWidth, "an installation has fewer entries of a kind")
            bits |= 1 << UInt64(place)
        }

        func contains(_ place: Int) -> Bool { place < UInt64.bitWidth && bits & 1 << UInt64(place) != 0 }

        mutating func next() -> Int? {
            if bits == 0 { return nil }
            defer { bits &= bits - 1 }
            return bits.trailingZeroBitCount
        }
    }
}
