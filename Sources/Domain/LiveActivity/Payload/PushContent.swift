/// The content of a send: the parts of an ActivityKit payload, before `PayloadRules` has checked that they
/// belong together. `PayloadBuilder` encodes them.
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

    /// One shared copy of the parts. Sends, expansions and the rows of all lanes hold the content, and each
    /// of them is copied several times.
    ///
    /// `@unchecked Sendable`: a box is changed only while it has a single owner.
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
    /// The rank among the app's other activities. The highest score wins the Dynamic Island.
    package var relevanceScore: Double? {
        get { box.parts.relevanceScore }
        set { parts.relevanceScore = newValue }
    }
    /// Whether the start asks iOS 18 for an update token.
    package var asksForToken: Bool {
        get { box.parts.asksForToken }
        set { parts.asksForToken = newValue }
    }
    /// The broadcast channel to subscribe to, in base64. A phone before iOS 18 does not start an activity
    /// that has one.
    package var channel: String? {
        get { box.parts.channel }
        set { parts.channel = newValue }
    }
}
