internal import Identifiers
internal import JSON

/// The position of a waiting timer in the list of its owner's timers, which are in the order in which they become due. The
/// next page of a list begins behind it.
package struct TimerPosition: Sendable, Hashable, Comparable {
    /// The time at which the send is due, in milliseconds since 1970.
    package var dueAt: Int64
    /// The schedule's id.
    package var id: String

    package init(dueAt: Int64, id: String) {
        self.dueAt = dueAt
        self.id = id
    }

    package static func < (a: TimerPosition, b: TimerPosition) -> Bool {
        if a.dueAt != b.dueAt { return a.dueAt < b.dueAt }
        return a.id.utf8.lexicographicallyPrecedes(b.id.utf8)
    }

    /// Two spellings of one id in Unicode are two ids.
    package static func == (a: TimerPosition, b: TimerPosition) -> Bool {
        a.dueAt == b.dueAt && a.id.utf8.elementsEqual(b.id.utf8)
    }

    /// The form in a URL: `1795809600000:reminder`.
    package var cursor: String { "\(dueAt):\(id)" }

    /// Reads the property `cursor` of another position. Returns nil for any other text.
    package init?(cursor: String) {
        let parts = cursor.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let dueAt = Int64(parts[0]), dueAt >= 0, "\(dueAt)" == parts[0],
            NameRules.problem(String(parts[1])) == nil
        else { return nil }
        self.init(dueAt: dueAt, id: String(parts[1]))
    }

    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.field("dueAt", dueAt)
        writer.field("id", id)
        writer.endObject()
    }

    init(from record: JSONObject) {
        self.init(dueAt: record["dueAt"].timeMilliseconds(), id: record["id"].name())
    }
}
