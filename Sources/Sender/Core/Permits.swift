/// How many pushes may be without a stored outcome: as many can a SIGKILL double.
struct Permits: Sendable {
    let limit: Int
    private(set) var taken = 0
    /// With other apps at work, an app may take so many times what is left. So the first app that gets no
    /// answers leaves a fifth to the others, and the second a ninth.
    static let shareOfFree = 4

    init(limit: Int) { self.limit = limit }

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
