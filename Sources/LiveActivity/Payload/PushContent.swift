/// What a send says to the phones: the parts of an ActivityKit payload, before anybody has checked that
/// they belong together. `PayloadRules` does that; `PayloadBuilder` makes the bytes.
package struct PushContent: Sendable, Hashable {
    private struct Parts: Sendable, Hashable {
        var event: PushEvent
        var contentState: RawJSON?
        var attributesType: String?
        var attributes: RawJSON?
        var alert: Alert?
        var staleDate: Int64?
        var dismissalDate: Int64?
        var relevanceScore: Double?
        var asksForToken = false
        var channel: String?

        init(_ event: PushEvent) { self.event = event }
    }

    /// One copy for all who have the content: sends, expansions and the rows of twelve lanes, each of which is copied
    /// several times on its way.
    ///
    /// `@unchecked Sendable`: whoever changes a box has it alone.
    private final class Box: @unchecked Sendable {
        var parts: Parts

        init(_ parts: Parts) { self.parts = parts }
    }

    private var box: Box

    private var parts: Parts {
        get { box.parts }
        _modify {
            if !isKnownUniquelyReferenced(&box) { box = Box(box.parts) }
            yield &box.parts
        }
    }

    package init(_ event: PushEvent) { box = Box(Parts(event)) }

    package static func == (a: PushContent, b: PushContent) -> Bool { a.box === b.box || a.parts == b.parts }

    package func hash(into hasher: inout Hasher) { hasher.combine(parts) }

    package var event: PushEvent {
        get { box.parts.event }
        set { parts.event = newValue }
    }
    package var contentState: RawJSON? {
        get { box.parts.contentState }
        set { parts.contentState = newValue }
    }
    /// The Swift name of the `ActivityAttributes` type.
    package var attributesType: String? {
        get { box.parts.attributesType }
        set { parts.attributesType = newValue }
    }
    package var attributes: RawJSON? {
        get { box.parts.attributes }
        set { parts.attributes = newValue }
    }
    package var alert: Alert? {
        get { box.parts.alert }
        set { parts.alert = newValue }
    }
    /// Seconds since 1970, as all dates here.
    package var staleDate: Int64? {
        get { box.parts.staleDate }
        set { parts.staleDate = newValue }
    }
    package var dismissalDate: Int64? {
        get { box.parts.dismissalDate }
        set { parts.dismissalDate = newValue }
    }
    /// Relative to the app's other activities; the highest wins the Dynamic Island.
    package var relevanceScore: Double? {
        get { box.parts.relevanceScore }
        set { parts.relevanceScore = newValue }
    }
    /// Asks iOS 18 for an update token when the activity starts.
    package var asksForToken: Bool {
        get { box.parts.asksForToken }
        set { parts.asksForToken = newValue }
    }
    /// The broadcast channel to subscribe to, base64. A phone before iOS 18 does not start with it.
    package var channel: String? {
        get { box.parts.channel }
        set { parts.channel = newValue }
    }
}
