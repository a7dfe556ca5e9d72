internal import Identifiers
internal import Payloads
internal import Schedules
internal import Sends

/// A check of the ENDs at the end dates of groups, which the planner requests from the scheduler. No END fires twice or
/// early, and the newest generation of each group ends. An older one may be replaced or may have ended before.
struct AutomaticEndChecker {
    private struct RequestedEnd {
        var end: AutomaticEnd
        /// The number of requests for this END, for the text of a fault. The generator makes each of them once.
        var requestCount = 1
        /// The cluster's timestamp of the END's record, in milliseconds since 1970.
        var firedAt: Int64?

        var endsAtMilliseconds: Int64 { end.endsAt * 1000 }
    }

    /// The owner and the name of a group. A group without an owner is public.
    private struct OwnedGroup: Hashable {
        var owner: String
        var group: String

        init(owner: Recipient?, group: String) { (self.owner, self.group) = (owner?.text ?? "", group) }
    }

    /// The requested ENDs by group, then by generation.
    private var requestedEnds: [OwnedGroup: [Int64: RequestedEnd]] = [:]
    private(set) var firedCount = 0

    mutating func recordRequest(for end: AutomaticEnd) {
        let ownedGroup = OwnedGroup(owner: end.owner, group: end.group)
        let requestCount = requestedEnds[ownedGroup]?[end.generation]?.requestCount ?? 0
        requestedEnds[ownedGroup, default: [:]][end.generation] = RequestedEnd(
            end: end, requestCount: requestCount + 1)
    }

    /// Checks a fired END.
    ///
    /// - Parameters:
    ///   - generation: The generation that the send ends.
    ///   - timestamp: The cluster's timestamp of the send's record, in milliseconds since 1970.
    /// - Returns: The fault, or nil.
    mutating func checkFired(_ send: Send, of generation: Int64, at timestamp: Int64) -> String? {
        let ownedGroup = OwnedGroup(owner: send.owner, group: send.group ?? "")
        guard let requested = requestedEnds[ownedGroup]?[generation] else {
            return "\(send.id) ends a generation that no record asked to end"
        }
        if let firedAt = requested.firedAt {
            return "\(send.id) ends the same generation again, \(timestamp - firedAt) ms later; "
                + "requests: \(requested.requestCount)"
        }
        requestedEnds[ownedGroup]?[generation]?.firedAt = timestamp
        firedCount += 1
        if timestamp < requested.endsAtMilliseconds {
            return "\(send.id) ends \(requested.endsAtMilliseconds - timestamp) ms early"
        }
        // An END counts as accepted at its time.
        if send.content.event != .end || send.acceptedAt != requested.endsAtMilliseconds {
            return "\(send.id) is not the requested end"
        }
        return nil
    }

    /// A newest generation that has not ended, in words. To be read after all timers have fired.
    var missingEnd: String? {
        for (ownedGroup, generations) in requestedEnds {
            guard let newest = generations.max(by: { $0.key < $1.key }), newest.value.firedAt == nil else {
                continue
            }
            return "generation \(newest.key) of \(ownedGroup.group) of '\(ownedGroup.owner)' has not ended"
        }
        return nil
    }
}
