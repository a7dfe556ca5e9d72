internal import JSON
internal import LiveActivity

extension PushPayload {
    /// The part of the payload that is used.
    enum ReadingDepth {
        case event
        /// Event and timestamp.
        case eventAndTimestamp
        case whole
    }

    /// Reads the fields that a phone uses. A field with a wrong type counts as missing, because APNs accepts
    /// it and a phone ignores it. Returns nil without `aps`.
    init?(_ body: JSONValue, depth: ReadingDepth) {
        guard body.kind == .object, case let members = body.object() else { return nil }
        guard case let aps = members["aps"], aps.kind == .object, case let aps = aps.object() else {
            return nil
        }
        event = Self.event(from: aps["event"])
        if depth == .event { return }
        timestamp = aps["timestamp"].wholeNumber
        if depth == .eventAndTimestamp { return }
        contentState = aps["content-state"].bytes
        attributesType = aps["attributes-type"].text
        attributes = aps["attributes"].bytes
        hasAlert = aps["alert"].isAlert
        staleDate = aps["stale-date"].wholeNumber
        dismissalDate = aps["dismissal-date"].wholeNumber
        let score = aps["relevance-score"]
        relevanceScore = score.kind == .integer || score.kind == .number ? score.double() : nil
        requestsUpdateToken = aps["input-push-token"].wholeNumber == 1
        channel = aps["input-push-channel"].text
    }

    private static func event(from event: JSONValue) -> PushEvent? {
        guard event.kind == .string else { return nil }
        let text = unsafe event.utf8.span
        if ASCIIText.isEqual(text, to: "update") { return .update }
        if ASCIIText.isEqual(text, to: "start") { return .start }
        return ASCIIText.isEqual(text, to: "end") ? .end : nil
    }
}

extension JSONValue {
    /// The integer, or nil for another type or a value above 63 bits. No problem is reported.
    fileprivate var wholeNumber: Int64? {
        kind == .integer && abs(double()) < 9e18 ? Int64(int()) : nil
    }
    /// Whether the alert has content. An empty alert counts as missing.
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
