internal import JSON
internal import Payloads

/// Reading of a payload as APNs and a phone read it: leniently, without a report of problems.
extension PushPayload {
    /// The fields to read. A simulator without phones needs only the first ones, and saves the time for the
    /// others.
    enum ReadingDepth {
        /// The event, for the checks of APNs.
        case event
        /// Also the timestamp, for the journal and for fault scripts.
        case eventAndTimestamp
        /// All fields, for phones.
        case whole
    }

    /// Reads the fields that a phone uses. A field with a wrong type counts as missing, because APNs accepts
    /// it and a phone ignores it. Returns nil if the body has no object `aps`.
    init?(_ body: JSONValue, depth: ReadingDepth) {
        guard body.kind == .object else { return nil }
        let value = body.object()["aps"]
        guard value.kind == .object else { return nil }
        let aps = value.object()
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

    private static func event(from value: JSONValue) -> PushEvent? {
        guard value.kind == .string else { return nil }
        let text = unsafe value.utf8().span
        if ASCIIText.isEqual(text, to: "update") { return .update }
        if ASCIIText.isEqual(text, to: "start") { return .start }
        return ASCIIText.isEqual(text, to: "end") ? .end : nil
    }
}

extension JSONValue {
    /// The integer, or nil for another type or a value of more than 63 bits. Unlike `int()`, it reports no
    /// problem.
    fileprivate var wholeNumber: Int64? {
        // A round number below 2^63, which is 9.22e18.
        kind == .integer && abs(double()) < 9e18 ? Int64(int()) : nil
    }

    /// Whether the alert has content. An empty alert counts as missing.
    fileprivate var isAlert: Bool {
        switch kind {
        case .object: object().count > 0
        case .string: unsafe !utf8().isEmpty
        default: false
        }
    }

    fileprivate var text: String? { kind == .string ? string() : nil }

    /// The value as received.
    fileprivate var bytes: RawJSON? { isMissing ? nil : unsafe RawJSON(accepted: raw) }
}
