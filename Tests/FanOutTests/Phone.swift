import Foundation
import JSON
import Payloads

/// The content of a push for a phone.
struct Push {
    var event: PushEvent
    var timestamp: Int64
    /// The state in its author's text. Nil without a state.
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
    /// Whether the phone reports the group with the token.
    var reportsGroup: Bool
    /// The state that it shows, and the timestamp of that state. It ignores a push whose timestamp is not newer.
    var state: String?
    var timestamp: Int64
    var hasEnded = false
    /// Whether it missed an END, because it already showed a state of a later generation.
    var hasMissedEnd = false
    /// Whether its app began it.
    var isOwn = false
    /// The newest reported token. Nil before the first report.
    var token: Int?
}

/// A phone of one user.
struct Phone {
    var user: String
    var installation: String
    var startToken: Int?
    /// The offset of the first start token in the lane's registry.
    var startOffset: Int?
    var activities: [Activity] = []
}
