package import JSON

/// The content of a send: the parts of an ActivityKit payload that the caller chooses. `PayloadRules` checks
/// whether they belong together, and `PayloadBuilder` encodes them. Dates are in seconds since 1970.
///
/// It is a value with copy-on-write. Sends, expansions and the rows of all lanes hold the content, so copies
/// share one `Storage`.
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

    /// `@unchecked Sendable`: a storage is changed only while it has a single owner.
    private final class Storage: @unchecked Sendable {
        var fields: Fields

        init(_ fields: Fields) { self.fields = fields }
    }

    private var storage: Storage

    /// The fields. A change first copies a storage that other values share.
    private var fields: Fields {
        get { storage.fields }
        _modify {
            if !isKnownUniquelyReferenced(&storage) { storage = Storage(storage.fields) }
            yield &storage.fields
        }
    }

    package init(_ event: PushEvent) { storage = Storage(Fields(event)) }

    package static func == (a: PushContent, b: PushContent) -> Bool {
        a.storage === b.storage || a.fields == b.fields
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(fields) }

    package var event: PushEvent {
        get { storage.fields.event }
        set { fields.event = newValue }
    }
    package var contentState: RawJSON? {
        get { storage.fields.contentState }
        set { fields.contentState = newValue }
    }
    /// The Swift name of the `ActivityAttributes` type.
    package var attributesType: String? {
        get { storage.fields.attributesType }
        set { fields.attributesType = newValue }
    }
    /// The attributes as the caller gave them, on a start.
    package var attributes: RawJSON? {
        get { storage.fields.attributes }
        set { fields.attributes = newValue }
    }
    package var alert: Alert? {
        get { storage.fields.alert }
        set { fields.alert = newValue }
    }
    /// The time from which the phone shows the state as outdated.
    package var staleDate: Int64? {
        get { storage.fields.staleDate }
        set { fields.staleDate = newValue }
    }
    /// The time at which an ended activity leaves the Lock Screen.
    package var dismissalDate: Int64? {
        get { storage.fields.dismissalDate }
        set { fields.dismissalDate = newValue }
    }
    /// The rank among the app's other activities. The highest score wins the Dynamic Island.
    package var relevanceScore: Double? {
        get { storage.fields.relevanceScore }
        set { fields.relevanceScore = newValue }
    }
    /// Whether the start asks a phone with iOS 18 or later for an update token.
    package var asksForToken: Bool {
        get { storage.fields.asksForToken }
        set { fields.asksForToken = newValue }
    }
    /// The broadcast channel to subscribe to, in base64. A phone before iOS 18 does not start an activity
    /// that has one.
    package var channel: String? {
        get { storage.fields.channel }
        set { fields.channel = newValue }
    }
}
