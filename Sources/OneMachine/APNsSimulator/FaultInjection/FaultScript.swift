/// The faults that a simulator injects, and when. The rules are checked in order for each request. The
/// course, the delay and the connection fault are each decided by the first matching rule that has one.
struct FaultScript: Sendable, Hashable {
    /// Limit on the rules of a script.
    static let rulesMax = 256
    /// Limit on the tokens of all rules together.
    static let tokensMax = 100_000

    var seed: UInt64 = 1
    var rules: [FaultRule] = []
    var timetable: FaultTimetable?

    static let none = FaultScript()
}

/// One kind of fault.
struct FaultRule: Sendable, Hashable {
    /// Name under which the hits are listed.
    var name: String?
    var match = RuleMatch()
    var effect = RuleEffect()
}

/// Faults that every connection gets at fixed times, independent of requests.
struct FaultTimetable: Sendable, Hashable {
    /// Limit on the steps of a timetable.
    static let stepsMax = 1_000

    struct Step: Sendable, Hashable {
        /// Time since the script was set, or since the current round began.
        var atMilliseconds: Int
        var fault: InjectedFault.ConnectionFault
    }

    /// Steps in the order of their times.
    var steps: [Step]
    /// Length of a round, after which the first step repeats. Nil for a single round.
    var everyMilliseconds: Int?
}
