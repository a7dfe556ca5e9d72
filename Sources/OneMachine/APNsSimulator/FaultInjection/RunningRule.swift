/// A rule with its progress.
struct RunningRule: Sendable {
    struct HitCounts: Sendable, Hashable {
        /// Requests or connections that met the rule's own conditions.
        var met = 0
        /// Requests or connections among them that the rule acted on.
        var acted = 0
    }

    let rule: FaultRule
    private(set) var hits = HitCounts()
    private var random: SeededRandom

    init(_ rule: FaultRule, at index: Int, seed: UInt64) {
        self.rule = rule
        random = SeededRandom(seed: seed, stream: index)
    }

    /// Counts one more match. Returns whether the rule acts on it.
    mutating func shouldActOnNextMatch() -> Bool {
        hits.met += 1
        if let nth = rule.match.nth, hits.met != nth { return false }
        if let every = rule.match.every, !hits.met.isMultiple(of: every) { return false }
        if let share = rule.match.share, !random.happens(withProbability: share) { return false }
        return rule.match.times.map { hits.acted < $0 } ?? true
    }

    mutating func recordAction() { hits.acted += 1 }

    mutating func drawMilliseconds(from delay: DelayDistribution) -> Int {
        delay.drawMilliseconds(using: &random)
    }
}
