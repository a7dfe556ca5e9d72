internal import APNs
internal import HTTP2
internal import JSON

extension RuleEffect {
    /// - Parameter object: the rule's object, which contains the fields of the effect.
    init(from object: JSONObject, rule: JSONValue) {
        var courses: [RequestFault] = []
        if let answer = object["answer"].optional { courses.append(.answer(ScriptedAnswer(answer))) }
        if let reset = object["reset"].optional { courses.append(RequestFault(reset: reset)) }
        if let silence = object["silence"].optional { courses.append(RequestFault(silence: silence)) }
        if courses.count > 1 { rule.report("must have only one of answer, reset and silence") }
        let faults = InjectedFault.ConnectionFault.all(in: object)
        if faults.count > 1 {
            rule.report("must have only one of \(InjectedFault.ConnectionFault.fieldNames)")
        }
        requestFault = courses.first
        delay = object["delay"].optional.map { DelayDistribution(from: $0) }
        connectionFault = faults.first
        if isEmpty {
            rule.report(
                "must do something: answer, reset, silence, delay, \(InjectedFault.ConnectionFault.fieldNames)"
            )
        }
    }
}

extension RuleEffect.RequestFault {
    fileprivate init(reset value: JSONValue) {
        let object = value.object()
        self = .reset(
            object["code"].errorCode(), processed: object["processed"].optional?.bool() ?? false)
        object.reportUnknownFields()
    }

    fileprivate init(silence value: JSONValue) {
        let object = value.object()
        self = .silence(processed: object["processed"].optional?.bool() ?? false)
        object.reportUnknownFields()
    }
}

extension ScriptedAnswer {
    fileprivate init(_ value: JSONValue) {
        let object = value.object()
        let reason = object["reason"].optional?.string()
        let body = object["body"].optional?.string()
        timestamp = object["timestamp"].optional.map { ScriptedTimestamp($0) }
        retryAfterSeconds = object["retryAfterSeconds"].optional?.int(in: 0...86_400)
        let known = reason.flatMap { APNsReason(text: $0) }
        if known == nil {
            status = object["status"].int(in: Self.statuses)
        } else {
            status = object["status"].optional?.int(in: Self.statuses) ?? known?.status ?? 0
        }
        content = reason.map { .reason($0) } ?? .body(Array((body ?? "").utf8))
        if (reason ?? body ?? "").utf8.count > Self.bodyBytesMax {
            value.report(
                "must have a reason or a body of at most \(Self.bodyBytesMax) bytes", as: .outOfRange)
        }
        if reason != nil, body != nil { value.report("must have only one of reason and body") }
        if reason == nil, timestamp != nil || retryAfterSeconds != nil {
            value.report("must have a reason if it has timestamp or retryAfterSeconds")
        }
        object.reportUnknownFields()
    }

    private static let statuses = 200...599
    private static let bodyBytesMax = 16_384
}

extension ScriptedTimestamp {
    fileprivate init(_ value: JSONValue) {
        if value.kind == .integer {
            self = .at(value.timeMilliseconds())
            return
        }
        let object = value.object()
        let range = -Self.millisecondsMax...Self.millisecondsMax
        let fromNow = object["fromNowMilliseconds"].optional?.int(in: range)
        if value.kind == .object, fromNow == nil {
            value.report("must be milliseconds since 1970, or have fromNowMilliseconds")
        }
        self = .fromNow(milliseconds: fromNow ?? 0)
        object.reportUnknownFields()
    }

    /// One year.
    private static let millisecondsMax = 366 * 86_400_000
}
