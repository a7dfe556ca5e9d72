package import JSON

/// The content of a send: the parts of an ActivityKit payload, before `PayloadRules` has checked that they
/// belong together. `PayloadBuilder` encodes them.
package struct PushContent: Sendable, Hashable {
    private struct Fields: Sendable, Hashable {
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
    private final class Storage: @unchecked Sendable {
        var parts: Fields

        init(_ parts: Fields) { self.parts = parts }
    }

    private var storage: Storage

    private var fields: Fields {
        get { storage.parts }
        _modify {
            if !isKnownUniquelyReferenced(&storage) { storage = Storage(storage.parts) }
            yield &storage.parts
        }
    }

    package init(_ event: PushEvent) { storage = Storage(Fields(event)) }

    package static func == (a: PushContent, b: PushContent) -> Bool {
        a.storage === b.storage || a.fields == b.fields
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(fields) }

    package var event: PushEvent {
        get { storage.parts.event }
        set { fields.event = newValue }
    }
    package var contentState: RawJSON? {
        get { storage.parts.contentState }
        set { fields.contentState = newValue }
    }
    /// The Swift name of the `ActivityAttributes` type.
    package var attributesType: String? {
        get { storage.parts.attributesType }
        set { fields.attributesType = newValue }
    }
    package var attributes: RawJSON? {
        get { storage.parts.attributes }
        set { fields.attributes = newValue }
    }
    package var alert: Alert? {
        get { storage.parts.alert }
        set { fields.alert = newValue }
    }
    /// Seconds since 1970, as all dates here.
    package var staleDate: Int64? {
        get { storage.parts.staleDate }
        set { fields.staleDate = newValue }
    }
    package var dismissalDate: Int64? {
        get { storage.parts.dismissalDate }
        set { fields.dismissalDate = newValue }
    }
    /// The rank among the app's other activities. The highest score wins the Dynamic Island.
    package var relevanceScore: Double? {
        get { storage.parts.relevanceScore }
        set { fields.relevanceScore = newValue }
    }
    /// Whether the start asks iOS 18 for an update token.
    package var asksForToken: Bool {
        get { storage.parts.asksForToken }
        set { fields.asksForToken = newValue }
    }
    /// The broadcast channel to subscribe to, in base64. A phone before iOS 18 does not start an activity
    /// that has one.
    package var channel: String? {
        get { storage.parts.channel }
        set { fields.channel = newValue }
    }
}
