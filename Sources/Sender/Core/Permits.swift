/// How many pushes may be without a stored outcome: as many can a SIGKILL double.
struct Permits: Sendable {
    private(set) var limit: Int
    private let limitMax: Int
    private(set) var taken = 0
    /// With other apps at work, an app may take so many times what is left. So the first app that gets no
    /// answers leaves a fifth to the others, and the second a ninth.
    static let shareOfFree = 4

    /// Before anything was stored, so many: as long as nobody has told the time, what leaves may be too late, or carry
    /// a provider token of a wrong date.
    static let firstMax = 20

    init(limit: Int) {
        limitMax = limit
        self.limit = min(limit, Self.firstMax)
    }

    /// Something was stored.
    mutating func open() { limit = limitMax }

    var free: Int { limit - taken }

    /// How many more an app may take that holds some.
    func room(holding held: Int, isAlone: Bool) -> Int {
        if isAlone { return free }
        return max(0, min(free, (Self.shareOfFree * (free + held)) / (Self.shareOfFree + 1) - held))
    }

    mutating func take(_ count: Int = 1) {
        taken += count
        precondition(taken <= limit, "more permits than there are")
    }

    mutating func give(_ count: Int = 1) {
        taken -= count
        precondition(taken >= 0, "a permit was given back twice")
    }
}
