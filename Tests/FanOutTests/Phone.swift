import Foundation
import JSON
import LiveActivity

/// What a push says to a phone.
struct Push {
    var event: PushEvent
    var timestamp: Int64
    /// As its author wrote it; nil where it has none.
    var state: String?

    init(_ body: [UInt8]) {
        let json = surely { try JSONSerialization.jsonObject(with: Data(body)) } as? [String: Any] ?? [:]
        let aps = json["aps"] as? [String: Any] ?? [:]
        event = (aps["event"] as? String).flatMap { PushEvent(rawValue: $0) } ?? .update
        timestamp = (aps["timestamp"] as? NSNumber)?.int64Value ?? 0
        state = (aps["content-state"] as? [String: Any])?["goals"].map { "\($0)" }
    }
}

/// A running activity on a phone.
struct Activity {
    var id: String
    var group: String
    /// Whether the phone tells its group when it reports the token.
    var tellsGroup: Bool
    /// What it shows, and of when that is.
    var state: String?
    var version: Int64
    var hasEnded = false
    /// An end came when it showed what was said in a later life already.
    var hasMissedEnd = false
    /// Its app began it by itself.
    var isOwn = false
    /// Reported with the newest token; nil before.
    var token: Int?
    /// What the phone has seen under each version.
    var seen: [Int64: String?] = [:]
}

/// A phone of one user.
struct Phone {
    var user: String
    var installation: String
    var startToken: Int?
    /// Where the first of them stands in its lane's registry.
    var startOffset: Int?
    var activities: [Activity] = []
}
