package import JSON

/// A builder of the body that APNs receives, for example
/// `{"aps":{"timestamp":1763600000,"event":"update","content-state":{"score":"2:1"}}}`. The fan-out builds a
/// body once per send and not once per token. The same content always gives the same bytes.
package enum PayloadBuilder {
    /// The size of the largest body for a token, so that the buffer rarely grows.
    private static let capacity = 4096

    /// Returns the body. It checks nothing, because the content has passed `PayloadRules`.
    ///
    /// - Parameters:
    ///   - timestamp: seconds since 1970. A phone ignores a body that is older than its current state.
    ///   - group: the attribute that a start gets in addition to its own.
    package static func body(for content: PushContent, timestamp: Int64, group: GroupAttribute? = nil)
        -> [UInt8]
    {
        var writer = JSONWriter(capacity: Self.capacity)
        writer.beginObject()
        writer.name("aps")
        writer.beginObject()
        writer.name("timestamp")
        writer.value(timestamp)
        writer.name("event")
        writer.value(content.event.rawValue)
        if let state = content.contentState {
            writer.name("content-state")
            writer.raw(state)
        }
        if content.event == .start { writeStart(content, group: group, to: &writer) }
        if let alert = content.alert { write(alert, to: &writer) }
        writeDates(content, to: &writer)
        writer.endObject()
        writer.endObject()
        return writer.bytes
    }

    /// Writes the fields that only a start has.
    private static func writeStart(
        _ content: PushContent, group: GroupAttribute?, to writer: inout JSONWriter
    ) {
        if let type = content.attributesType {
            writer.name("attributes-type")
            writer.value(type)
        }
        if let attributes = attributes(of: content, group: group) {
            writer.name("attributes")
            writer.raw(attributes)
        }
        if content.asksForToken {
            writer.name("input-push-token")
            writer.value(1)
        }
        if let channel = content.channel {
            writer.name("input-push-channel")
            writer.value(channel)
        }
    }

    /// Writes the dates and the relevance score.
    private static func writeDates(_ content: PushContent, to writer: inout JSONWriter) {
        if let date = content.staleDate {
            writer.name("stale-date")
            writer.value(date)
        }
        if let date = content.dismissalDate {
            writer.name("dismissal-date")
            writer.value(date)
        }
        if let score = content.relevanceScore {
            writer.name("relevance-score")
            writer.value(score)
        }
    }

    private static func write(_ alert: Alert, to writer: inout JSONWriter) {
        writer.name("alert")
        writer.beginObject()
        if let title = alert.title {
            writer.name("title")
            write(title, to: &writer)
        }
        if let body = alert.body {
            writer.name("body")
            write(body, to: &writer)
        }
        if let sound = alert.sound {
            writer.name("sound")
            writer.value(sound)
        }
        writer.endObject()
    }

    private static func write(_ text: Alert.Text, to writer: inout JSONWriter) {
        switch text {
        case .plain(let text): writer.value(text)
        case .localized(let key, let arguments):
            writer.beginObject()
            writer.name("loc-key")
            writer.value(key)
            if !arguments.isEmpty {
                writer.name("loc-args")
                writer.beginArray()
                for argument in arguments { writer.value(argument) }
                writer.endArray()
            }
            writer.endObject()
        }
    }

    /// Returns the attributes of a start with the group as the first member. The bytes of the app's own
    /// attributes stay unchanged. Returns nil if there are no attributes, or if they name another group.
    package static func attributes(of content: PushContent, group: GroupAttribute?) -> RawJSON? {
        guard content.event == .start, let attributes = content.attributes, let group else {
            return content.attributes
        }
        let members = attributes.members
        if let groupMember = members[group.name] {
            return groupMember == .text(group.group) ? attributes : nil
        }
        // `{"netmeraGroupId":"match-42"` and the attributes without their opening brace.
        var bytes = objectBytes(of: group)
        bytes.removeLast()
        if !members.isEmpty { bytes.append(UInt8(ascii: ",")) }
        return RawJSON(joined: bytes + attributes.bytes.dropFirst())
    }

    /// Returns an object with the group attribute only, for example `{"netmeraGroupId":"match-42"}`.
    private static func objectBytes(of group: GroupAttribute) -> [UInt8] {
        // 64 bytes are enough for most names of attributes. The buffer grows for others.
        var writer = JSONWriter(capacity: 64 + group.group.utf8.count)
        writer.beginObject()
        writer.name(group.name)
        writer.value(group.group)
        writer.endObject()
        return writer.bytes
    }
}
