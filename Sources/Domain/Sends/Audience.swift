internal import Identifiers
internal import JSON

/// The recipients of a send, as its caller names them.
package enum Audience: Sendable, Hashable {
    /// All recipients of the app.
    case everyone
    case segments([String])
    case tags([String])
    /// All members of the send's group.
    case group
    case users([String])
    case activities([String])

    /// The maximum number of names in one audience. A larger audience needs a segment.
    package static let namesMax = 10_000
}

extension JSONWriter {
    mutating func field(_ name: StaticString, _ audience: Audience) {
        self.name(name)
        switch audience {
        case .everyone: value("everyone")
        case .group: value("group")
        case .segments(let names): object("segments", names: names)
        case .tags(let names): object("tags", names: names)
        case .users(let names): object("users", names: names)
        case .activities(let names): object("activities", names: names)
        }
    }

    private mutating func object(_ name: StaticString, names: [String]) {
        beginObject()
        field(name, names)
        endObject()
    }
}

extension JSONValue {
    /// Reads an audience: `"everyone"`, `"group"`, or an object such as `{"users": ["ann"]}`. Any other value is
    /// reported and read as `group`.
    package func audience() -> Audience {
        if kind == .string { return audienceWithoutNames() }
        let object = object()
        let lists: [(names: JSONValue, audience: ([String]) -> Audience)] = [
            (object["segments"], Audience.segments), (object["tags"], Audience.tags),
            (object["users"], Audience.users), (object["activities"], Audience.activities),
        ]
        let presentLists = lists.filter { !$0.names.isMissing }
        guard presentLists.count == 1 else {
            if kind == .object { report("must have exactly one of segments, tags, users, activities") }
            return .group
        }
        let list = presentLists[0]
        return list.audience(list.names.names(countMax: Audience.namesMax))
    }

    private func audienceWithoutNames() -> Audience {
        switch string() {
        case "everyone": return .everyone
        case "group": return .group
        default:
            report(
                "must be \"everyone\", \"group\", or an object with one of segments, tags, users, activities"
            )
            return .group
        }
    }
}
