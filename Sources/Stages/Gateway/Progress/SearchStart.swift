/// The place in a topic where the search for a send begins, and its direction. Times are milliseconds since 1970.
package enum SearchStart: Sendable, Hashable {
    /// From the end backwards. The time of acceptance is unknown.
    case backwardsFromEnd
    /// From the time of acceptance forwards. If nothing is found, then backwards from that time, because it may come
    /// from a wrong clock.
    case accepted(at: Int64)
    /// Only forwards, from a time before which the topic has no record of the send.
    case notBefore(Int64)

    /// The time at which the search begins, or nil for the end of the topic.
    var time: Int64? {
        switch self {
        case .backwardsFromEnd: nil
        case .accepted(let time), .notBefore(let time): time
        }
    }

    /// Returns the start of a search in the topic of requests. A request can wait for the planner, so its record can be
    /// older than the records that the insight stage has read.
    var ofRequests: SearchStart {
        if case .notBefore(let time) = self { .notBefore(time - Self.planningMilliseconds) } else { self }
    }

    /// The time that a request may wait for the planner. An older one is found only by its time of acceptance.
    private static let planningMilliseconds: Int64 = 3_600_000

    /// Whether the search goes backwards from its start if it finds nothing.
    var mayBeEarlier: Bool {
        if case .notBefore = self { false } else { true }
    }
}
