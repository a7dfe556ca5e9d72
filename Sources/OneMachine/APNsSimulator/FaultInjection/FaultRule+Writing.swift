internal import HTTP2
internal import Identifiers
internal import JSON
internal import Payloads

/// The JSON form of a rule, with the fields that `FaultScript+Reading` reads.
extension FaultRule {
    /// Writes the fields of the rule's object.
    func writeFields(to json: inout JSONWriter) {
        json.field("name", name)
        json.name("match")
        match.write(to: &json)
        switch effect.requestFault {
        case nil: break
        case .answer(let answer): answer.write(to: &json)
        case .reset(let code, let processed):
            json.object("reset") { json in
                json.name("code")
                code.write(to: &json)
                json.field("processed", processed)
            }
        case .silence(let processed): json.object("silence") { $0.field("processed", processed) }
        }
        if let delay = effect.delay { json.object("delay") { delay.writeFields(to: &$0) } }
        effect.connectionFault?.writeField(to: &json)
    }
}

extension RuleMatch {
    /// Writes the conditions as an object. A condition that matches all is omitted.
    func write(to json: inout JSONWriter) {
        json.beginObject()
        if isAtConnect { json.field("atConnect", true) }
        json.stringList("kinds", values: kinds.map(\.rawValue).sorted())
        json.field("bundleId", bundleID)
        json.field("environment", environment?.rawValue)
        json.stringList("events", values: events.map(\.rawValue).sorted())
        json.stringList("tokens", values: tokens.redactedTexts)
        json.field("channel", channel)
        json.field("connection", connection)
        json.field("requestOfConnection", requestOfConnection)
        json.field("fromMilliseconds", fromMilliseconds)
        json.field("untilMilliseconds", untilMilliseconds)
        json.field("nth", nth)
        json.field("every", every)
        if let share {
            json.name("share")
            json.value(share)
        }
        json.field("times", times)
        json.endObject()
    }
}

extension ScriptedAnswer {
    fileprivate func write(to json: inout JSONWriter) {
        json.object("answer") { json in
            json.field("status", status)
            switch content {
            case .reason(let reason): json.field("reason", reason)
            case .body(let body): json.field("body", String(decoding: body, as: UTF8.self))
            }
            switch timestamp {
            case nil: break
            case .at(let time): json.field("timestamp", Int(time))
            case .fromNow(let milliseconds):
                json.object("timestamp") { $0.field("fromNowMilliseconds", milliseconds) }
            }
            json.field("retryAfterSeconds", retryAfterSeconds)
        }
    }
}

extension DelayDistribution {
    fileprivate func writeFields(to json: inout JSONWriter) {
        switch self {
        case .fixed(let milliseconds): json.field("fixedMilliseconds", milliseconds)
        case .exponential(let mean): json.field("exponentialMeanMilliseconds", mean)
        case .uniform(let from, let to):
            json.object("uniform") { json in
                json.field("fromMilliseconds", from)
                json.field("toMilliseconds", to)
            }
        case .lognormal(let p50, let p99):
            json.object("lognormal") { json in
                json.field("p50Milliseconds", p50)
                json.field("p99Milliseconds", p99)
            }
        }
    }
}
