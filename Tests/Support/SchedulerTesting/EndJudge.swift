internal import LiveActivity

/// A check of the ends that the planner asked for. No end fires twice or early, and the newest generation of
/// each group ends. An older one may be replaced or may have ended before.
struct EndJudge {
    private struct Asked {
        var end: AutomaticEnd
        /// The number of requests for this end.
        var times = 1
        /// The cluster's stamp on the END.
        var firedAt: Int64?
    }

    /// The owner and the name of a group.
    private struct Home: Hashable {
        var owner: String
        var group: String

        init(_ owner: Recipient?, _ group: String) { (self.owner, self.group) = (owner?.text ?? "", group) }
    }

    private var asked: [Home: [Int64: Asked]] = [:]
    private(set) var fired = 0

    mutating func ask(_ end: AutomaticEnd) {
        let home = Home(end.owner, end.group)
        let times = asked[home]?[end.generation]?.times ?? 0
        asked[home, default: [:]][end.generation] = Asked(end: end, times: times + 1)
    }

    /// Checks a fired end.
    ///
    /// - Parameters:
    ///   - generation: The generation that the send ends.
    ///   - stamp: The cluster's stamp on the send's record, in milliseconds since 1970.
    /// - Returns: The fault, or nil.
    mutating func fires(_ send: Send, of generation: Int64, at stamp: Int64) -> String? {
        let home = Home(send.owner, send.group ?? "")
        guard let one = asked[home]?[generation] else {
            return "\(send.id) ends a generation that no record asked to end"
        }
        if let firedAt = one.firedAt {
            return
                "\(send.id) ends the same generation again, \(stamp - firedAt) ms later; requests: \(one.times)"
        }
        asked[home]?[generation]?.firedAt = stamp
        fired += 1
        if stamp < one.end.endsAt * 1000 {
            return "\(send.id) ends \(one.end.endsAt * 1000 - stamp) ms early"
        }
        if send.content.event != .end || send.acceptedAt != one.end.endsAt * 1000 {
            return "\(send.id) is not the requested end"
        }
        return nil
    }

    /// A generation that should have ended but has not. Checked after all timers have fired.
    var lost: String? {
        for (home, lives) in asked {
            guard let newest = lives.max(by: { $0.key < $1.key }), newest.value.firedAt == nil else {
                continue
            }
            return "generation \(newest.key) of \(home.group) of '\(home.owner)' has not ended"
        }
        return nil
    }
}
