internal import APNs
internal import LiveActivity

/// A push that passed every check of APNs and goes to the phones.
struct AcceptedPush: Sendable {
    enum Target: Sendable, Hashable {
        case token(PushToken)
        /// The channel's id, base64.
        case channel(String)
    }

    /// Id of the request.
    var id: PushID
    var target: Target
    var environment: Environment
    var bundleID: String
    /// 10, 5 or 1.
    var priority: Int
    /// Seconds since 1970. Nil if the sender omitted it, 0 for a single attempt.
    var expiration: Int64?
    /// Whether the channel stores its newest message for phones that come later.
    var isStored = false
    var payload: PushPayload
    /// Milliseconds since 1970.
    var receivedAt: Int64
}

/// The parts of a payload that a phone reads. Only the requirements of APNs itself are checked here. A phone
/// ignores every other error silently, as a real phone does.
struct PushPayload: Sendable {
    /// The event. Nil if ActivityKit does not know it.
    var event: PushEvent?
    /// Seconds since 1970.
    var timestamp: Int64?
    /// The content state as received.
    var contentState: RawJSON?
    var attributesType: String?
    var attributes: RawJSON?
    var hasAlert = false
    var staleDate: Int64?
    var dismissalDate: Int64?
    var relevanceScore: Double?
    var requestsUpdateToken = false
    var channel: String?
}
