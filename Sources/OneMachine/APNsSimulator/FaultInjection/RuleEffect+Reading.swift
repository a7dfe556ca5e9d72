internal import APNs
internal import HTTP2
internal import JSON

/// Reading of the effect of a rule. Its fields are members of the rule's object, for example
/// `"answer": {"reason": "Unregistered"}, "delay": {"fixedMilliseconds": 50}`. Each initializer reports the
/// problems of its object and continues with a placeholder.
extension RuleEffect {
    /// - Parameters:
    ///   - object: the members of the rule.
    ///   - rule: the rule, which gets the reports of problems.
    init(from object: JSONObject, rule: JSONValue) {
        var requestFaults: [RequestFault] = []
        if let answer = object["answer"].optional { requestFaults.append(.answer(ScriptedAnswer(answer))) }
        if let reset = object["reset"].optional { requestFaults.append(RequestFault(reset: reset)) }
        if let silence = object["silence"].optional { requestFaults.append(RequestFault(silence: silence)) }
        if requestFaults.count > 1 { rule.report("must have only one of answer, reset and silence") }
        let connectionFaults = InjectedFault.ConnectionFault.all(in: object)
        if connectionFaults.count > 1 {
            rule.report("must have only one of \(InjectedFault.ConnectionFault.fieldNames)")
        }
        requestFault = requestFaults.first
        delay = object["delay"].optional.map { DelayDistribution(from: $0) }
        connectionFault = connectionFaults.first
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
    private static let statuses = 200...599
    private static let retryAfterSecondsMax = 86_400
    private static let bodyBytesMax = 16_384

    /// Reads an object with a reason or a body, for example `{"status": 503, "body": ""}`.
    fileprivate init(_ value: JSONValue) {
        let object = value.object()
        let reason = object["reason"].optional?.string()
        let body = object["body"].optional?.string()
        timestamp = object["timestamp"].optional.map { ScriptedTimestamp($0) }
        retryAfterSeconds = object["retryAfterSeconds"].optional?.int(in: 0...Self.retryAfterSecondsMax)
        // A reason of APNs has a fixed status, so the script may leave the status out.
        if let knownReason = reason.flatMap({ APNsReason(text: $0) }) {
            status = object["status"].optional?.int(in: Self.statuses) ?? knownReason.status
        } else {
            status = object["status"].int(in: Self.statuses)
        }
        // Without a reason and a body, the body is empty.
        let text = reason ?? body ?? ""
        content = reason == nil ? .body(Array(text.utf8)) : .reason(text)
        if text.utf8.count > Self.bodyBytesMax {
            value.report(
                "must have a reason or a body of at most \(Self.bodyBytesMax) bytes", as: .outOfRange)
        }
        if reason != nil, body != nil { value.report("must have only one of reason and body") }
        let needsReason = timestamp != nil || retryAfterSeconds != nil
        if reason == nil, needsReason {
            value.report("must have a reason if it has timestamp or retryAfterSeconds")
        }
        object.reportUnknownFields()
    }
}

extension ScriptedTimestamp {
    /// Largest distance from the request, before or after it: one year.
    private static let millisecondsMax = 366 * 86_400_000

    /// Reads a number, which is a time, or an object such as `{"fromNowMilliseconds": -5000}`.
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
}
