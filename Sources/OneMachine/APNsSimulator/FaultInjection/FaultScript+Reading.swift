internal import APNs
internal import JSON

/// Reading of a script from JSON. All problems are reported at once: an initializer reports the problems of
/// its object and continues with a placeholder. Unknown fields are refused, because otherwise a typing error
/// would silently disable a fault.
extension FaultScript {
    /// Limits of a script in JSON: 4 MiB.
    static let limits = JSONLimits(bytesMax: 4 << 20, keysMax: 100_000)

    init(_ bytes: [UInt8], with reader: JSONReader) throws(JSONError) {
        self = try reader.read(bytes) { FaultScript($0) }
    }

    init(_ value: JSONValue) {
        let object = value.object()
        seed = object["seed"].optional?.uint64() ?? 1
        if let list = object["rules"].optional {
            var elements = list.array(countMax: FaultScript.rulesMax)
            while let element = elements.next() { rules.append(FaultRule(element)) }
            let tokenCount = rules.reduce(0) { $0 + $1.match.tokens.count }
            if tokenCount > FaultScript.tokensMax {
                list.report(
                    "names \(tokenCount) tokens, at most \(FaultScript.tokensMax) are valid", as: .outOfRange)
            }
        }
        timetable = object["timetable"].optional.map { FaultTimetable($0) }
        object.reportUnknownFields()
    }
}

extension FaultRule {
    private static let nameBytesMax = 100

    init(_ bytes: [UInt8], with reader: JSONReader) throws(JSONError) {
        self = try reader.read(bytes) { FaultRule($0) }
    }

    init(_ value: JSONValue) {
        let object = value.object()
        name = object["name"].optional?.string()
        if (name?.utf8.count ?? 0) > FaultRule.nameBytesMax {
            object["name"].report("must have at most \(FaultRule.nameBytesMax) bytes")
        }
        match = object["match"].optional.map { RuleMatch($0) } ?? RuleMatch()
        effect = RuleEffect(from: object, rule: value)
        if match.isAtConnect, effect.requestFault != nil || effect.delay != nil {
            value.report(
                "must have only one of \(InjectedFault.ConnectionFault.fieldNames) if it has atConnect")
        }
        object.reportUnknownFields()
    }
}

extension FaultTimetable {
    init(_ value: JSONValue) {
        let object = value.object()
        everyMilliseconds = object["everyMilliseconds"].optional?.int(
            in: 1...DelayDistribution.millisecondsMax)
        steps = []
        let list = object["steps"]
        var elements = list.array(countMax: FaultTimetable.stepsMax)
        while let element = elements.next() { steps.append(Step(element)) }
        if list.kind == .array, steps.isEmpty { list.report("must have a step") }
        let isUnordered = zip(steps, steps.dropFirst()).contains { $0.atMilliseconds > $1.atMilliseconds }
        if isUnordered {
            list.report("must be in the order of atMilliseconds")
        }
        if let every = everyMilliseconds, let last = steps.last, last.atMilliseconds >= every {
            list.report("must all be before everyMilliseconds")
        }
        object.reportUnknownFields()
    }
}

extension FaultTimetable.Step {
    init(_ value: JSONValue) {
        let object = value.object()
        atMilliseconds = object["atMilliseconds"].milliseconds()
        let faults = InjectedFault.ConnectionFault.all(in: object)
        if faults.count != 1 {
            value.report("must have exactly one of \(InjectedFault.ConnectionFault.fieldNames)")
        }
        fault = faults.first ?? .close
        object.reportUnknownFields()
    }
}
