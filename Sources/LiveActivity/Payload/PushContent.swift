/// What a send says to the phones: the parts of an ActivityKit payload, before anybody has checked that
/// they belong together. `PayloadRules` does that; `PayloadBuilder` makes the bytes.
package struct PushContent: Sendable, Hashable {
    package var event: PushEvent
    package var contentState: RawJSON?
    /// The Swift name of the `ActivityAttributes` type.
    package var attributesType: String?
    package var attributes: RawJSON?
    package var alert: Alert?
    /// Seconds since 1970, as all dates here.
    package var staleDate: Int64?
    package var dismissalDate: Int64?
    /// Relative to the app's other activities; the highest wins the Dynamic Island.
    package var relevanceScore: Double?
    /// Asks iOS 18 for an update token when the activity starts.
    package var asksForToken = false
    /// The broadcast channel to subscribe to, base64. A phone before iOS 18 does not start with it.
    package var channel: String?

    package init(_ event: PushEvent) { self.event = event }
}
