internal import JSON

/// Reading of the field `delay` of a rule. Each initializer reports the problems of its object and continues with a
/// placeholder.
extension DelayDistribution {
    /// Reads an object with one distribution, for example `{"fixedMilliseconds": 50}` or
    /// `{"lognormal": {"p50Milliseconds": 20, "p99Milliseconds": 400}}`.
    init(from value: JSONValue) {
        let object = value.object()
        var distributions: [DelayDistribution] = []
        if let fixed = object["fixedMilliseconds"].optional {
            distributions.append(.fixed(milliseconds: fixed.milliseconds()))
        }
        if let uniform = object["uniform"].optional {
            distributions.append(DelayDistribution(uniform: uniform))
        }
        if let mean = object["exponentialMeanMilliseconds"].optional {
            distributions.append(.exponential(meanMilliseconds: mean.milliseconds()))
        }
        if let lognormal = object["lognormal"].optional {
            distributions.append(DelayDistribution(lognormal: lognormal))
        }
        if value.kind == .object, distributions.count != 1 {
            value.report(
                "must have exactly one of fixedMilliseconds, uniform, exponentialMeanMilliseconds and lognormal"
            )
        }
        self = distributions.first ?? .fixed(milliseconds: 0)
        object.reportUnknownFields()
    }

    private init(uniform value: JSONValue) {
        let object = value.object()
        let from = object["fromMilliseconds"].milliseconds()
        let to = object["toMilliseconds"].milliseconds()
        if to < from { object["toMilliseconds"].report("must not be less than fromMilliseconds") }
        self = .uniform(fromMilliseconds: from, toMilliseconds: max(from, to))
        object.reportUnknownFields()
    }

    private init(lognormal value: JSONValue) {
        let object = value.object()
        let range = 1...DelayDistribution.millisecondsMax
        let p50 = object["p50Milliseconds"].int(in: range)
        let p99 = object["p99Milliseconds"].int(in: range)
        if p99 < p50 { object["p99Milliseconds"].report("must not be less than p50Milliseconds") }
        self = .lognormal(p50Milliseconds: p50, p99Milliseconds: max(p50, p99))
        object.reportUnknownFields()
    }
}
