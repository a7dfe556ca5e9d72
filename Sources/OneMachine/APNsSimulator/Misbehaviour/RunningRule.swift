/// A rule with its progress.
struct RunningRule: Sendable {
    struct Hits: Sendable, Hashable {
        /// Requests or connections that met the rule's own conditions.
        var met = 0
        /// Requests or connections among them that the rule acted on.
        var acted = 0
    }

    let rule: Rule
    private(set) var hits = Hits()
    private var dice: Dice

    init(_ rule: Rule, at index: Int, seed: UInt64) {
        self.rule = rule
        dice = Dice(seed: seed, stream: index)
    }

    /// Counts one more match. Returns whether the rule acts on it.
    mutating func isChosen() -> Bool {
        hits.met += 1
        if let nth = rule.match.nth, hits.met != nth { return false }
        if let every = rule.match.every, !hits.met.isMultiple(of: every) { return false }
        if let share = rule.match.share, !dice.falls(within: share) { return false }
        return rule.match.times.map { hits.acted < $0 } ?? true
    }

    mutating func acted() { hits.acted += 1 }

    mutating func draw(_ delay: DelayDistribution) -> Int { delay.draw(with: &dice) }
}
