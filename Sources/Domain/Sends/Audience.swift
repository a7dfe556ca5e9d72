internal import Identifiers
internal import JSON

/// The recipients of a send, as its caller names them.
package enum Audience: Sendable, Hashable {
    /// All recipients of the app.
    case everyone
    case segments([String])
    case tags([String])
    /// Recipients whose profiles fulfill several conditions.
    case combination(AudienceCombination)
    /// All members of the send's group.
    case group
    case users([String])
    case activities([String])

    /// The maximum number of names in one audience. A larger audience needs a segment.
    package static let namesMax = 10_000

    /// Whether the audience is one named user or activity.
    package var namesOne: Bool {
        switch self {
        case .users(let names), .activities(let names): names.count == 1
        case .everyone, .segments, .tags, .combination, .group: false
        }
    }
}

/// The conditions on a profile that must all be true, for an audience such as "fans of a team who are in the segment
/// `premium`, without those who have the tag `muted`".
package struct AudienceCombination: Sendable, Hashable {
    /// The recipient is in at least one of these segments. Empty means no such condition.
    package var segments: [String]
    /// The recipient has at least one of these tags. Empty means no such condition.
    package var tags: [String]
    /// The recipient is in none of these segments.
    package var excludedSegments: [String]
    /// The recipient has none of these tags.
    package var excludedTags: [String]

    package init(
        segments: [String] = [], tags: [String] = [], excludedSegments: [String] = [],
        excludedTags: [String] = []
    ) {
        self.segments = segments
        self.tags = tags
        self.excludedSegments = excludedSegments
        self.excludedTags = excludedTags
    }

    /// The number of names in all conditions.
    var nameCount: Int { segments.count + tags.count + excludedSegments.count + excludedTags.count }
}

extension JSONWriter {
    mutating func field(_ name: StaticString, _ audience: Audience) {
        self.name(name)
        switch audience {
        case .everyone: value("everyone")
        case .group: value("group")
        case .segments(let names): object("segments", names: names)
        case .tags(let names): object("tags", names: names)
        case .combination(let combination): value(combination)
        case .users(let names): object("users", names: names)
        case .activities(let names): object("activities", names: names)
        }
    }

    private mutating func object(_ name: StaticString, names: [String]) {
        beginObject()
        field(name, names)
        endObject()
    }

    private mutating func value(_ combination: AudienceCombination) {
        beginObject()
        if combination.segments.isEmpty && combination.tags.isEmpty { field("everyone", true) }
        list("segments", combination.segments)
        list("tags", combination.tags)
        if !combination.excludedSegments.isEmpty || !combination.excludedTags.isEmpty {
            name("exclude")
            beginObject()
            list("segments", combination.excludedSegments)
            list("tags", combination.excludedTags)
            endObject()
        }
        endObject()
    }

    /// Writes the names, or nothing if the list is empty.
    private mutating func list(_ name: StaticString, _ names: [String]) {
        if !names.isEmpty { field(name, names) }
    }
}

extension JSONValue {
    /// Reads an audience: `"everyone"`, `"group"`, or an object such as `{"users": ["ann"]}` or
    /// `{"segments": ["vip"], "exclude": {"tags": ["muted"]}}`. Any other value is reported and read as `group`.
    package func audience() -> Audience {
        if kind == .string { return audienceWithoutNames() }
        let object = object()
        if kind != .object { return .group }
        let (users, activities) = (object["users"].optional, object["activities"].optional)
        let (segments, tags) = (object["segments"].optional, object["tags"].optional)
        let (everyone, exclude) = (object["everyone"].optional, object["exclude"].optional)
        let hasNames = users != nil || activities != nil
        let hasProfileConditions = segments != nil || tags != nil
        let hasOneKind = [hasNames, hasProfileConditions, everyone != nil].count(where: { $0 }) == 1
        let hasBothNames = users != nil && activities != nil
        let excludesFromNames = hasNames && exclude != nil
        guard hasOneKind, !hasBothNames, !excludesFromNames else {
            report(
                "must have users, or activities, or one or both of segments and tags, or \"everyone\": true; the last two may have exclude"
            )
            return .group
        }
        if let users { return .users(users.names(countMax: Audience.namesMax)) }
        if let activities { return .activities(activities.names(countMax: Audience.namesMax)) }
        if let everyone, !everyone.bool() { everyone.report("must be true, or be omitted") }
        switch (segments, tags, exclude) {
        case (nil, nil, nil): return .everyone
        case (let segments?, nil, nil): return .segments(segments.names(countMax: Audience.namesMax))
        case (nil, let tags?, nil): return .tags(tags.names(countMax: Audience.namesMax))
        default: return combination(segments: segments, tags: tags, exclude: exclude)
        }
    }

    /// Reads several conditions. A list that is present must not be empty, because an empty list is no condition and
    /// the audience would be larger than its caller wants.
    private func combination(segments: JSONValue?, tags: JSONValue?, exclude: JSONValue?) -> Audience {
        let excluded = exclude?.object()
        let (excludedSegments, excludedTags) = (
            excluded?["segments"].optional, excluded?["tags"].optional
        )
        let combination = AudienceCombination(
            segments: segments?.condition() ?? [], tags: tags?.condition() ?? [],
            excludedSegments: excludedSegments?.condition() ?? [],
            excludedTags: excludedTags?.condition() ?? [])
        if let exclude, exclude.kind == .object, excludedSegments == nil && excludedTags == nil {
            exclude.report("must have segments, tags or both, or be omitted")
        }
        excluded?.reportUnknownFields()
        if combination.nameCount > Audience.namesMax {
            report(
                "must have at most \(Audience.namesMax) names in all of its lists together", as: .outOfRange)
        }
        return .combination(combination)
    }

    /// Reads the names of one condition.
    private func condition() -> [String] {
        let names = names(countMax: Audience.namesMax)
        if kind == .array, names.isEmpty { report("must name at least one, or be omitted") }
        return names
    }

    private func audienceWithoutNames() -> Audience {
        switch string() {
        case "everyone": return .everyone
        case "group": return .group
        default:
            report(
                "must be \"everyone\", \"group\", or an object with segments, tags, users or activities"
            )
            return .group
        }
    }
}
