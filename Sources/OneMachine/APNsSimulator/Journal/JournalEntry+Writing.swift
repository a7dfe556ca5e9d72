internal import APNs
internal import HTTP2
internal import Identifiers
internal import JSON
internal import Payloads
internal import Telemetry

/// The JSON form of an entry, for the file and the control API. Tokens are secrets, so only the beginning of
/// their hash is shown. Programs read the names of the fields, so they stay even where a property has another name.
extension JournalRing.NumberedEntry {
    /// - Parameter showsPayload: whether to include the request's payload.
    func write(to json: inout JSONWriter, showsPayload: Bool) {
        json.beginObject()
        json.field("number", number)
        entry.writeFields(to: &json)
        if showsPayload { RedactedPayload(entry.request.body).writeFields(to: &json) }
        json.endObject()
    }
}

extension JournalEntry {
    fileprivate func writeFields(to json: inout JSONWriter) {
        json.field("receivedAt", facts.receivedAt)
        json.field("endedAt", endedAt)
        json.field("kind", facts.kind.rawValue)
        json.field("environment", facts.environment.rawValue)
        json.field("connection", facts.connection)
        json.field("requestOfConnection", facts.requestOfConnection)
        json.field("stream", Int(facts.stream))
        switch facts.target {
        case nil: break
        case .token(let token): json.field("token", token.description)
        case .channel(let channel): json.field("channel", channel)
        }
        json.field("bundleId", facts.bundleID)
        json.field("event", facts.event?.rawValue)
        json.field("timestamp", facts.timestamp)
        json.field("id", id.description)
        writeRequest(to: &json)
        writeOutcome(to: &json)
        json.field("delivered", isDelivered)
        json.field("doubt", facts.warning?.message)
    }

    /// Writes the request as received. Each header is a pair of name and value.
    private func writeRequest(to json: inout JSONWriter) {
        json.field("method", request.method)
        json.field("path", redactedPath)
        json.name("headers")
        json.beginArray()
        for header in request.headers {
            json.beginArray()
            json.value(header.name)
            json.value(Redaction.scrub(header.value))
            json.endArray()
        }
        json.endArray()
        json.field("bodyBytes", request.bodyByteCount)
        json.field("bodyHash", String(decoding: Hex.encode(request.bodyHash), as: UTF8.self))
    }

    private func writeOutcome(to json: inout JSONWriter) {
        switch outcome {
        case .answered(let status, let reason, let isSent):
            json.field("status", status)
            json.field("reason", reason)
            json.field("answerLeft", isSent)
        case .reset(let code):
            json.name("reset")
            code.write(to: &json)
        case .notProcessed: json.field("notProcessed", true)
        case .silence: json.field("silence", true)
        }
    }

    /// The path without the token. Even an invalid token in the path may be most of a real one.
    private var redactedPath: String {
        let prefix = "/3/device/"
        let path = request.path
        guard path.hasPrefix(prefix) else { return Redaction.scrub(path) }
        if case .token(let token) = facts.target { return prefix + token.description }
        return prefix + "…"
    }
}
