/// The faults that a simulator injects, and their times. For each request the rules are checked in order. A rule has a
/// request fault (a false answer, a reset or silence), a delay, a connection fault, or several of them. For each of
/// these three kinds, the first matching rule that has a fault of the kind decides. Example in JSON:
///
///     {"seed": 7,
///      "rules": [{"match": {"kinds": ["push"], "share": 0.1}, "answer": {"reason": "TooManyRequests"}},
///                {"match": {"nth": 500}, "goaway": {"streamsBack": 4}}],
///      "timetable": {"everyMilliseconds": 60000, "steps": [{"atMilliseconds": 30000, "close": true}]}}
struct FaultScript: Sendable, Hashable {
    /// Limit on the rules of a script.
    static let rulesMax = 256
    /// Limit on the tokens of all rules together.
    static let tokensMax = 100_000

    /// Seed of the random choices.
    var seed: UInt64 = 1
    var rules: [FaultRule] = []
    var timetable: FaultTimetable?

    static let none = FaultScript()
}

/// The faults for the requests or connections that match.
struct FaultRule: Sendable, Hashable {
    /// A name for the operator, to find the rule's counts.
    var name: String?
    var match = RuleMatch()
    var effect = RuleEffect()
}

/// Faults that every connection gets at fixed times, independent of requests.
struct FaultTimetable: Sendable, Hashable {
    /// Limit on the steps of a timetable.
    static let stepsMax = 1_000

    struct Step: Sendable, Hashable {
        /// Milliseconds since the current round began. The first round begins when the script is set.
        var atMilliseconds: Int
        var fault: InjectedFault.ConnectionFault
    }

    /// Steps in the order of their times.
    var steps: [Step]
    /// Length of a round, after which the steps repeat. Nil for a single round.
    var everyMilliseconds: Int?
}
