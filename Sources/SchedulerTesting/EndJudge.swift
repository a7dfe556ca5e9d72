internal import LiveActivity

/// What must be so of the ends that the planner asked for: none goes twice or early, and of each group the newest
/// life ends. An older one may be replaced, or have ended before.
struct EndJudge {
    private struct Asked {
        var end: EndSchedule
        /// How often it was asked for.
        var times = 1
        /// The cluster's stamp on the END.
        var firedAt: Int64?
    }

    /// By whose group it is.
    private struct Home: Hashable {
        var owner: String
        var group: String

        init(_ owner: Recipient?, _ group: String) { (self.owner, self.group) = (owner?.text ?? "", group) }
    }

    private var asked: [Home: [Int64: Asked]] = [:]
    private(set) var fired = 0

    mutating func ask(_ end: EndSchedule) {
        let home = Home(end.owner, end.group)
        let times = asked[home]?[end.generation]?.times ?? 0
        asked[home, default: [:]][end.generation] = Asked(end: end, times: times + 1)
    }

    /// - Parameters:
    ///   - generation: the life that the send ends.
    ///   - stamp: the cluster's, on the send's record; milliseconds since 1970.
    /// - Returns: what is wrong with it.
    mutating func fires(_ send: Send, of generation: Int64, at stamp: Int64) -> String? {
        let home = Home(send.owner, send.group ?? "")
        guard let one = asked[home]?[generation] else { return "\(send.id) ends what nobody wants ended" }
        if let firedAt = one.firedAt {
            return
                "\(send.id) ends the same life again, \(stamp - firedAt) ms later; it was asked for \(one.times) times"
        }
        asked[home]?[generation]?.firedAt = stamp
        fired += 1
        if stamp < one.end.at * 1000 { return "\(send.id) ends \(one.end.at * 1000 - stamp) ms early" }
        if send.content.event != .end || send.acceptedAt != one.end.at * 1000 {
            return "\(send.id) is not the end that was asked for"
        }
        return nil
    }

    /// When nothing is left: a life that should have ended, and has not.
    var lost: String? {
        for (home, lives) in asked {
            guard let newest = lives.max(by: { $0.key < $1.key }), newest.value.firedAt == nil else {
                continue
            }
            return "life \(newest.key) of \(home.group) of '\(home.owner)' has not ended"
        }
        return nil
    }
}
