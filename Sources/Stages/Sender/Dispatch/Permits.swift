/// The rights to push, one for each push without a stored outcome. A SIGKILL can duplicate at most as many pushes as
/// there are permits.
struct Permits: Sendable {
    /// The limit now.
    private(set) var limit: Int
    /// The limit after the first record is stored.
    private let limitMax: Int
    private(set) var taken = 0

    /// Limit before the first record is stored. Until then the time is uncertain, so a push may be too late,
    /// or its provider token may carry a wrong date.
    static let firstMax = 20

    /// While other apps have work, an app takes up to this many times the permits that it leaves free. So an app
    /// that gets no answers leaves a fifth of the permits to the others, and the next such app leaves a fifth of these.
    static let shareOfFree = 4

    init(limit: Int) {
        limitMax = limit
        self.limit = min(limit, Self.firstMax)
    }

    /// Lifts the first limit, because a record was stored.
    mutating func liftFirstLimit() { limit = limitMax }

    var free: Int { limit - taken }

    /// Returns how many more permits an app may take.
    ///
    /// - Parameters:
    ///   - held: permits that the app holds.
    ///   - isAlone: whether no other app has work.
    func available(holding held: Int, isAlone: Bool) -> Int {
        if isAlone { return free }
        let share = (Self.shareOfFree * (free + held)) / (Self.shareOfFree + 1)
        let unusedShare = max(0, share - held)
        return min(free, unusedShare)
    }

    mutating func take(_ count: Int = 1) {
        taken += count
        precondition(taken <= limit, "more permits are taken than exist")
    }

    mutating func giveBack(_ count: Int = 1) {
        taken -= count
        precondition(taken >= 0, "a permit was given back twice")
    }
}
