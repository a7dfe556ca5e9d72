/// A rule and how far it has come.
struct RunningRule: Sendable {
    struct Hits: Sendable, Hashable {
        /// Requests, or connections, that met the conditions on themselves.
        var met = 0
        /// Those of them that the rule did something about.
        var acted = 0
    }

    let rule: Rule
    private(set) var hits = Hits()
    private var dice: Dice

    init(_ rule: Rule, at index: Int, seed: UInt64) {
        self.rule = rule
        dice = Dice(seed: seed, stream: index)
    }

    /// One more has met the conditions on itself: whether it is one that the rule acts upon.
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
