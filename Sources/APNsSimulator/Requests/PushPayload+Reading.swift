internal import JSON
internal import LiveActivity

extension PushPayload {
    /// How much of it somebody looks at.
    enum Depth {
        case event
        /// Event and timestamp.
        case order
        case whole
    }

    /// Takes from a body what a phone looks at. What has the wrong type is not there, because APNs
    /// does not mind and a phone ignores it. Nil without `aps`.
    init?(_ body: JSONValue, _ depth: Depth) {
        guard body.kind == .object, case let members = body.object() else { return nil }
        guard case let aps = members["aps"], aps.kind == .object, case let aps = aps.object() else {
            return nil
        }
        event = Self.event(aps["event"])
        if depth == .event { return }
        timestamp = aps["timestamp"].wholeNumber
        if depth == .order { return }
        contentState = aps["content-state"].bytes
        attributesType = aps["attributes-type"].text
        attributes = aps["attributes"].bytes
        hasAlert = aps["alert"].isAlert
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
    /// An alert without a word in it is none.
    fileprivate var isAlert: Bool {
        switch kind {
        case .object: object().count > 0
        case .string: unsafe !utf8.isEmpty
        default: false
        }
    }
    fileprivate var text: String? { kind == .string ? string() : nil }
    fileprivate var bytes: RawJSON? { isMissing ? nil : unsafe RawJSON(accepted: raw) }
}
