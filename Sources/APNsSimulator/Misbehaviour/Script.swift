/// What a simulator does wrong, and when. The rules are looked at in order for each request: of its
/// course, its delay and what happens to its connection, each is decided by the first rule that matches
/// and has something to say about it.
struct Script: Sendable, Hashable {
    /// Rules of a script; one more is refused.
    static let rulesMax = 256
    /// Tokens that all rules name together; one more is refused.
    static let tokensMax = 100_000

    var seed: UInt64 = 1
    var rules: [Rule] = []
    var timetable: Timetable?

    static let none = Script()
}

/// One thing that is done wrong.
struct Rule: Sendable, Hashable {
    /// What the hits are listed under.
    var name: String?
    var match = RuleMatch()
    var effect = RuleEffect()
}

/// What happens to every connection at set times, whatever is asked.
struct Timetable: Sendable, Hashable {
    /// Steps of a timetable; one more is refused.
    static let stepsMax = 1_000

    struct Step: Sendable, Hashable {
        /// Since the script was given, or since the present round began.
        var atMilliseconds: Int
        var fault: Ruling.ConnectionFault
    }

    /// By time.
    var steps: [Step]
    /// How long a round takes, after which the first step comes again; nil for one round.
    var everyMilliseconds: Int?
}
