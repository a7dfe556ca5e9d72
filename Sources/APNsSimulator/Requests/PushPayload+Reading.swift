internal import JSON
internal import LiveActivity

extension PushPayload {
    /// Takes from a body what a phone looks at. What has the wrong type is not there, because APNs
    /// does not mind and a phone ignores it. Nil without `aps`.
    /// - Parameter whole: false takes the event alone, for when nobody looks at the rest.
    init?(_ body: JSONValue, whole: Bool) {
        guard body.kind == .object, case let members = body.object() else { return nil }
        guard case let aps = members["aps"], aps.kind == .object, case let aps = aps.object() else {
            return nil
        }
        event = Self.event(aps["event"])
        guard whole else { return }
        timestamp = aps["timestamp"].wholeNumber
        contentState = aps["content-state"].bytes
        attributesType = aps["attributes-type"].text
        attributes = aps["attributes"].bytes
        let alert = aps["alert"].kind
        hasAlert = alert == .object || alert == .string
        staleDate = aps["stale-date"].wholeNumber
        dismissalDate = aps["dismissal-date"].wholeNumber
        let score = aps["relevance-score"]
        relevanceScore = score.kind == .integer || score.kind == .number ? score.double() : nil
        asksForToken = aps["input-push-token"].wholeNumber == 1
        channel = aps["input-push-channel"].text
    }

    private static func event(_ event: JSONValue) -> PushEvent? {
        guard event.kind == .string else { return nil }
        let text = unsafe event.utf8.span
        if Text.equal(text, "update") { return .update }
        if Text.equal(text, "start") { return .start }
        return Text.equal(text, "end") ? .end : nil
    }
}

extension JSONValue {
    /// Nil for what has another type, or is beyond 63 bits, which is then not noted as a problem.
    fileprivate var wholeNumber: Int64? {
        kind == .integer && abs(double()) < 9e18 ? Int64(int()) : nil
    }
    fileprivate var text: String? { kind == .string ? string() : nil }
    fileprivate var bytes: RawJSON? { isMissing ? nil : unsafe RawJSON(accepted: raw) }
}
