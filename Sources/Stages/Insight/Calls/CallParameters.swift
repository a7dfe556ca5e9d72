internal import Identifiers
internal import Members
internal import Telemetry

/// The parameters of a call, which is an `InsightQuery` of a gateway. Each function reads one parameter, once and
/// strictly. A parameter that no function reads is unknown to the call.
///
/// A function that finds a problem notes it and returns a placeholder. `checkAllRead` throws all problems together. If
/// their limit is reached before, they are thrown at once.
struct CallParameters {
    static let dayMilliseconds: Int64 = 86_400_000
    private static let limitDefault: Int64 = 50
    /// Later than any time.
    private static let timeMax: Int64 = 1 << 52

    /// The limit of problems in one answer.
    private static let problemsMax = 20

    private var unread: [String: String] = [:]
    private var problems: [ParameterProblem] = []

    init(of call: InsightQuery) throws(CallProblem) {
        for parameter in call.parameters {
            let isRepeated = unread.updateValue(parameter.value, forKey: parameter.name) != nil
            if isRepeated { try report(.invalid(parameter.name, message: "must be given once")) }
        }
    }

    /// Notes a problem. Throws all problems if their limit is reached.
    mutating func report(_ problem: ParameterProblem) throws(CallProblem) {
        problems.append(problem)
        if problems.count >= Self.problemsMax { throw .parameters(problems) }
    }

    /// Returns a name, or nil if the parameter is missing.
    mutating func text(_ name: String) throws(CallProblem) -> String? {
        guard let text = unread.removeValue(forKey: name) else { return nil }
        guard let problem = NameRules.problem(text) else { return text }
        try report(.invalid(name, message: problem))
        return nil
    }

    mutating func number(_ name: String, in range: ClosedRange<Int64>) throws(CallProblem) -> Int64? {
        guard let text = unread.removeValue(forKey: name) else { return nil }
        guard let number = Int64(text), range.contains(number) else {
            let message = "must be a number from \(range.lowerBound) to \(range.upperBound)"
            try report(.invalid(name, message: message))
            return nil
        }
        return number
    }

    /// Returns one of the choices. The first one is the default.
    mutating func choice(_ name: String, of choices: [String]) throws(CallProblem) -> String {
        guard let text = unread.removeValue(forKey: name) else { return choices[0] }
        guard choices.contains(text) else {
            try report(.invalid(name, message: "must be one of \(choices.joined(separator: ", "))"))
            return choices[0]
        }
        return text
    }

    /// Returns several of the choices, which the parameter lists with commas between them.
    mutating func choices(_ name: String, of choices: [String], defaultingTo: [String]) throws(CallProblem)
        -> [String]
    {
        guard let text = unread.removeValue(forKey: name) else { return defaultingTo }
        let parts = text.split(separator: ",").map(String.init)
        guard parts.allSatisfy(choices.contains) else {
            let list = choices.joined(separator: ", ")
            try report(.invalid(name, message: "must be any of \(list), separated by commas"))
            return defaultingTo
        }
        return parts
    }

    mutating func limit(max: Int64 = 500) throws(CallProblem) -> Int {
        Int(try number("limit", in: 1...max) ?? Self.limitDefault)
    }

    /// Returns the position behind which a list continues, or nil for its beginning.
    mutating func cursor() throws(CallProblem) -> ListPosition? {
        guard let text = unread.removeValue(forKey: "cursor") else { return nil }
        guard let position = ListPosition(cursor: text) else {
            try report(.invalid("cursor", message: "must be the field next of an earlier answer"))
            return nil
        }
        return position
    }

    /// Returns a range in milliseconds since 1970. It excludes `to`, and the default of `to` includes `now`.
    mutating func range(
        daysMax: Int64, defaultMilliseconds: Int64, now: Int64
    ) throws(CallProblem) -> (from: Int64, to: Int64) {
        let times: ClosedRange<Int64> = 0...Self.timeMax
        let to = try number("to", in: times) ?? now + 1
        let from = try number("from", in: times) ?? max(0, to - defaultMilliseconds)
        if from >= to {
            try report(.invalid("from", message: "must be before to"))
        } else if to - from > daysMax * Self.dayMilliseconds {
            try report(.rangeTooLong(daysMax: daysMax))
        }
        return (from, to)
    }

    /// Throws the problems of the parameters that were read, and of those that were not.
    func checkAllRead() throws(CallProblem) {
        let unknown = unread.keys.sorted().map { ParameterProblem.unknownField($0) }
        let all = (problems + unknown).prefix(Self.problemsMax)
        if !all.isEmpty { throw .parameters(Array(all)) }
    }
}
