internal import APNs
package import Identifiers
internal import JSON
internal import Payloads

/// A push that passed every check of APNs and is delivered to the phones.
package struct AcceptedPush: Sendable {
    /// The receiver of a push.
    package enum Target: Sendable, Hashable {
        case token(PushToken)
        /// The channel's id, base64.
        case channel(String)
    }

    /// The request's apns-id or apns-request-id.
    var id: PushID
    package var target: Target
    var environment: Environment
    package var bundleID: String
    /// 10, 5 or 1.
    var priority: Int
    /// Seconds since 1970. Nil if the sender omitted it, 0 for a single attempt.
    var expiration: Int64?
    /// Whether the channel stores the push for phones that begin to listen later.
    var isStored = false
    package var payload: PushPayload
    /// Milliseconds since 1970.
    var receivedAt: Int64
}
