/// A rule of the running script, with its counts and its random numbers.
struct RunningRule: Sendable {
    struct HitCounts: Sendable, Hashable {
        /// Number of requests or connections that matched.
        var matchCount = 0
        /// Number of those for which the rule injected a fault.
        var actionCount = 0
    }

    let rule: FaultRule
    private(set) var hits = HitCounts()
    private var random: SeededRandom

    /// - Parameter index: position of the rule in the script. It selects the rule's stream of random numbers.
    init(_ rule: FaultRule, at index: Int, seed: UInt64) {
        self.rule = rule
        random = SeededRandom(seed: seed, stream: index)
    }

    /// Counts one more match. Returns whether the rule is selected for it by `nth`, `every`, `share` and
    /// `times`. The caller then calls `recordAction` if it uses a fault of the rule. It does not use one if
    /// earlier rules have decided everything.
    mutating func shouldActOnNextMatch() -> Bool {
        hits.matchCount += 1
        if let nth = rule.match.nth, hits.matchCount != nth { return false }
        if let every = rule.match.every, !hits.matchCount.isMultiple(of: every) { return false }
        if let share = rule.match.share, !random.happens(withProbability: share) { return false }
        if let times = rule.match.times, hits.actionCount >= times { return false }
        return true
    }

    /// Counts that a fault of the rule was injected.
    mutating func recordAction() { hits.actionCount += 1 }

    /// Draws a delay with the rule's random numbers.
    mutating func drawMilliseconds(from delay: DelayDistribution) -> Int {
        delay.drawMilliseconds(using: &random)
    }
}
