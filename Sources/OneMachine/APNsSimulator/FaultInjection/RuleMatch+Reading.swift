internal import Identifiers
internal import JSON
internal import Payloads

/// Reading of the field `match` of a rule. Each initializer reports the problems of its object and continues with a
/// placeholder.
extension RuleMatch {
    /// Limit on the start and the end of the time in which a rule applies: one year.
    private static let windowMillisecondsMax = 366 * 86_400_000

    /// Reads an object with the conditions, for example `{"kinds": ["push"], "connection": 1, "every": 10}`.
    init(_ value: JSONValue) {
        let object = value.object()
        isAtConnect = object["atConnect"].optional?.bool() ?? false
        kinds = object["kinds"].optional?.choices(of: RequestFacts.RequestKind.self) ?? []
        bundleID = object["bundleId"].optional?.string()
        environment = object["environment"].optional?.choice(of: Environment.self)
        events = object["events"].optional?.choices(of: PushEvent.self) ?? []
        tokens = object["tokens"].optional.map { TokenSet($0) } ?? TokenSet()
        channel = object["channel"].optional?.string()
        connection = object["connection"].optional?.positiveCount()
        requestOfConnection = object["requestOfConnection"].optional?.positiveCount()
        fromMilliseconds = object["fromMilliseconds"].optional?.int(in: 0...Self.windowMillisecondsMax)
        untilMilliseconds = object["untilMilliseconds"].optional?.int(in: 0...Self.windowMillisecondsMax)
        if let fromMilliseconds, let untilMilliseconds, untilMilliseconds <= fromMilliseconds {
            object["untilMilliseconds"].report("must be later than fromMilliseconds")
        }
        nth = object["nth"].optional?.positiveCount()
        every = object["every"].optional?.positiveCount()
        if nth != nil, every != nil { value.report("must not have both nth and every") }
        share = object["share"].optional?.probability()
        times = object["times"].optional?.positiveCount()
        if isAtConnect, hasRequestConditions {
            value.report("must not have conditions on requests if it has atConnect")
        }
        object.reportUnknownFields()
    }
}

extension TokenSet {
    /// Reads a list of tokens and hashes, which must not be empty.
    init(_ value: JSONValue) {
        var elements = value.array(countMax: FaultScript.tokensMax)
        while let element = elements.next() {
            let text = element.string()
            if element.kind == .string, !insert(text) {
                element.report("must be a token in hexadecimal, or tok: and 8 digits as shown in the journal")
            }
        }
        if value.kind == .array, isEmpty { value.report("must name a token or be absent") }
    }
}

extension JSONValue {
    fileprivate func probability() -> Double {
        let probability = double()
        if !(0...1).contains(probability) { report("must be from 0 to 1", as: .outOfRange) }
        return probability
    }
}
