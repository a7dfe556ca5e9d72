internal import Identifiers
internal import Members
internal import Telemetry

/// The parameters of a call. Each one is read once and strictly. A parameter that is left over at the end is
/// unknown.
struct CallParameters {
    static let dayMilliseconds: Int64 = 86_400_000

    private var unread: [String: String] = [:]

    init(of call: InsightQuery) throws(CallProblem) {
        for parameter in call.parameters {
            guard unread.updateValue(parameter.value, forKey: parameter.name) == nil else {
                throw .invalid(parameter.name, message: "must be given once")
            }
        }
    }

    mutating func text(_ name: String) throws(CallProblem) -> String? {
        guard let text = unread.removeValue(forKey: name) else { return nil }
        if let problem = NameRules.problem(text) { throw .invalid(name, message: problem) }
        return text
    }

    mutating func number(_ name: String, in range: ClosedRange<Int64>) throws(CallProblem) -> Int64? {
        guard let text = unread.removeValue(forKey: name) else { return nil }
        guard let number = Int64(text), range.contains(number) else {
            throw .invalid(name, message: "must be a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    mutating func choice(_ name: String, of choices: [String]) throws(CallProblem) -> String {
        guard let text = unread.removeValue(forKey: name) else { return choices[0] }
        guard choices.contains(text) else {
            throw .invalid(name, message: "must be one of \(choices.joined(separator: ", "))")
        }
        return text
    }

    /// Returns a comma-separated subset of the choices.
    mutating func choices(_ name: String, of known: [String], defaultingTo: [String]) throws(CallProblem)
        -> [String]
    {
        guard let text = unread.removeValue(forKey: name) else { return defaultingTo }
        let parts = text.split(separator: ",").map(String.init)
        guard parts.allSatisfy(known.contains) else {
            throw .invalid(
                name, message: "must be any of \(known.joined(separator: ", ")), separated by commas")
        }
        return parts
    }

    mutating func limit(max: Int64 = 500) throws(CallProblem) -> Int {
        Int(try number("limit", in: 1...max) ?? 50)
    }

    mutating func cursor() throws(CallProblem) -> ListPosition? {
        guard let text = unread.removeValue(forKey: "cursor") else { return nil }
        guard let place = ListPosition(cursor: text) else {
            throw .invalid("cursor", message: "must be the field next of an earlier answer")
        }
        return place
    }

    /// Returns a range in milliseconds since 1970.
    mutating func range(
        daysMax: Int64, defaultMilliseconds: Int64, now: Int64
    ) throws(CallProblem) -> (from: Int64, to: Int64) {
        let times: ClosedRange<Int64> = 0...(1 << 52)
        let to = try number("to", in: times) ?? now + 1
        let from = try number("from", in: times) ?? max(0, to - defaultMilliseconds)
        if from >= to { throw .invalid("from", message: "must be before to") }
        if to - from > daysMax * Self.dayMilliseconds { throw .rangeTooLong(daysMax: daysMax) }
        return (from, to)
    }

    func checkAllRead() throws(CallProblem) {
        if let name = unread.keys.min() { throw .unknownField(name) }
    }
}
