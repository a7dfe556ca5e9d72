internal import Identifiers
internal import Payloads
internal import Schedules
internal import Sends

/// A check of the ends that the planner asked for. No end fires twice or early, and the newest generation of
/// each group ends. An older one may be replaced or may have ended before.
struct AutomaticEndChecker {
    private struct RequestedEnd {
        var end: AutomaticEnd
        /// The number of requests for this end.
        var requestCount = 1
        /// The cluster's stamp on the END.
        var firedAt: Int64?
    }

    /// The owner and the name of a group.
    private struct OwnedGroup: Hashable {
        var owner: String
        var group: String

        init(owner: Recipient?, group: String) { (self.owner, self.group) = (owner?.text ?? "", group) }
    }

    private var requestedEnds: [OwnedGroup: [Int64: RequestedEnd]] = [:]
    private(set) var firedCount = 0

    mutating func recordRequest(for end: AutomaticEnd) {
        let home = OwnedGroup(owner: end.owner, group: end.group)
        let times = requestedEnds[home]?[end.generation]?.requestCount ?? 0
        requestedEnds[home, default: [:]][end.generation] = RequestedEnd(end: end, requestCount: times + 1)
    }

    /// Checks a fired end.
    ///
    /// - Parameters:
    ///   - generation: The generation that the send ends.
    ///   - stamp: The cluster's stamp on the send's record, in milliseconds since 1970.
    /// - Returns: The fault, or nil.
    mutating func checkFired(_ send: Send, of generation: Int64, at stamp: Int64) -> String? {
        let home = OwnedGroup(owner: send.owner, group: send.group ?? "")
        guard let requested = requestedEnds[home]?[generation] else {
            return "\(send.id) ends a generation that no record asked to end"
        }
        if let firedAt = requested.firedAt {
            return
                "\(send.id) ends the same generation again, \(stamp - firedAt) ms later; requests: \(requested.requestCount)"
        }
        requestedEnds[home]?[generation]?.firedAt = stamp
        firedCount += 1
        if stamp < requested.end.endsAt * 1000 {
            return "\(send.id) ends \(requested.end.endsAt * 1000 - stamp) ms early"
        }
        if send.content.event != .end || send.acceptedAt != requested.end.endsAt * 1000 {
            return "\(send.id) is not the requested end"
        }
        return nil
    }

    /// A generation that should have ended but has not. Checked after all timers have fired.
    var missingEnd: String? {
        for (home, lives) in requestedEnds {
            guard let newest = lives.max(by: { $0.key < $1.key }), newest.value.firedAt == nil else {
                continue
            }
            return "generation \(newest.key) of \(home.group) of '\(home.owner)' has not ended"
        }
        return nil
    }
}
