package import JSON
package import Payloads

/// The content, the audience and the author of a send in a few bytes, for lists of sends. Each verdict of the planner
/// has one (`ProgressRecord.PlannerPart`).
package struct SendOutline: Sendable, Hashable {
    /// The limit of the content in bytes, and of the attributes. Longer ones are left out.
    package static let contentBytesMax = 512
    /// The limit of the names of an audience. The outline counts the others.
    package static let namesMax = 3

    /// The audience, with its first names.
    package struct OutlinedAudience: Sendable, Hashable {
        package enum Kind: String, Sendable, CaseIterable {
            case everyone, segments, tags, combination, group, users, activities
        }

        package var kind: Kind
        package var names: [String]
        /// The number of all names.
        package var nameCount: Int
    }

    package var event: PushEvent
    package var contentState: RawJSON?
    /// The attributes of a start, such as the names of two teams.
    package var attributes: RawJSON?
    package var audience: OutlinedAudience
    /// The id of the API key, or the name of the operator.
    package var author: String?

    package init(of send: Send) {
        event = send.content.event
        contentState = send.content.contentState.flatMap { $0.count <= Self.contentBytesMax ? $0 : nil }
        attributes = send.content.attributes.flatMap { $0.count <= Self.contentBytesMax ? $0 : nil }
        audience = OutlinedAudience(of: send.audience)
        author = send.author
    }

    /// Writes the fields of an answer, and of a record, into an open object.
    package func write(to writer: inout JSONWriter) {
        writer.field("event", event.rawValue)
        writer.field("contentState", contentState)
        writer.field("attributes", attributes)
        writer.name("audience")
        writer.beginObject()
        writer.field("kind", audience.kind.rawValue)
        writer.field("names", audience.names.isEmpty ? nil : audience.names)
        writer.field("count", audience.nameCount == 0 ? nil : audience.nameCount)
        writer.endObject()
        writer.field("author", author)
    }

    init(from object: JSONObject) {
        event = object["event"].choice(of: PushEvent.self) ?? .update
        contentState = object["contentState"].optional?.rawJSON()
        attributes = object["attributes"].optional?.rawJSON()
        let audience = object["audience"].object()
        self.audience = OutlinedAudience(
            kind: audience["kind"].choice(of: OutlinedAudience.Kind.self) ?? .group,
            names: audience["names"].optional?.strings(countMax: Self.namesMax) ?? [],
            nameCount: audience["count"].optional?.int(in: 0...Int(Int32.max)) ?? 0)
        author = object["author"].optional?.string()
    }
}

extension SendOutline.OutlinedAudience {
    init(of audience: Audience) {
        let (kind, names): (Kind, [String]) =
            switch audience {
            case .everyone: (.everyone, [])
            case .group: (.group, [])
            case .segments(let names): (.segments, names)
            case .tags(let names): (.tags, names)
            case .combination(let combination): (.combination, combination.conditions)
            case .users(let names): (.users, names)
            case .activities(let names): (.activities, names)
            }
        self.init(kind: kind, names: Array(names.prefix(SendOutline.namesMax)), nameCount: names.count)
    }
}

extension AudienceCombination {
    /// The names of all conditions, for people.
    fileprivate var conditions: [String] {
        segments.map { "segment \($0)" } + tags.map { "tag \($0)" }
            + excludedSegments.map { "not segment \($0)" } + excludedTags.map { "not tag \($0)" }
    }
}
