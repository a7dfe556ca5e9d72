internal import APNs
internal import LiveActivity

/// A push that passed every check that APNs makes: what the phones get.
struct AcceptedPush: Sendable {
    enum Target: Sendable, Hashable {
        case token(PushToken)
        /// The channel's id, base64.
        case channel(String)
    }

    /// Of the request that brought it.
    var id: PushID
    var target: Target
    var environment: Environment
    var bundleID: String
    /// 10, 5 or 1.
    var priority: Int
    /// Seconds since 1970; nil where the sender left it out, 0 for one attempt.
    var expiration: Int64?
    /// The channel keeps its newest message for phones that come later.
    var isStored = false
    var payload: PushPayload
    /// Milliseconds since 1970.
    var receivedAt: Int64
}

/// The parts of a payload that a phone looks at. Only what APNs itself demands is certain here: a phone
/// must meet every other mistake in silence, as a real one does.
struct PushPayload: Sendable {
    /// Nil for an event that ActivityKit does not know.
    var event: PushEvent?
    /// Seconds since 1970.
    var timestamp: Int64?
    /// The bytes as they came.
    var contentState: RawJSON?
    var attributesType: String?
    var attributes: RawJSON?
    var hasAlert = false
    var staleDate: Int64?
    var dismissalDate: Int64?
    var relevanceScore: Double?
    var asksForToken = false
    var channel: String?
}
