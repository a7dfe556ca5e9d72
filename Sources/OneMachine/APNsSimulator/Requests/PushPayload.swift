package import JSON
package import Payloads

/// The parts of a payload that a phone reads. A field that is missing or has a wrong type is nil. APNs accepts
/// such a push, and the phone then shows nothing, as a real phone does.
package struct PushPayload: Sendable {
    /// The event. Nil if ActivityKit does not know it.
    package var event: PushEvent?
    /// Seconds since 1970, like the other two dates.
    package var timestamp: Int64?
    /// The content state as received.
    package var contentState: RawJSON?
    var attributesType: String?
    var attributes: RawJSON?
    /// Whether the payload has an alert with content.
    var hasAlert = false
    var staleDate: Int64?
    var dismissalDate: Int64?
    var relevanceScore: Double?
    /// Whether a start asks for an update token (`input-push-token`).
    var requestsUpdateToken = false
    /// Id of the channel that the new activity listens to (`input-push-channel`).
    var channel: String?
}
