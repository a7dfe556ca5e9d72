internal import Cryptography
internal import Lifecycle
internal import LiveActivity

/// Requests that wait for the scheduler's replies, by the names that their orders carry. Several gateways may
/// read one partition of `replies`, so an unknown name belongs to another gateway or came too late. Each
/// waiting request counts in `PendingRequestLimit`, so there are at most `requestsWaitingMax`.
///
/// The scheduler may reply before Kafka's acknowledgement of the order arrives. The reply proves that the
/// order is stored.
struct PendingReplies<Request> {
    private struct Entry {
        let request: Request
        /// The end of the wait. Nil until the order is stored.
        var until: Instant?
    }

    private static var nameBytes: Int { 12 }
    private var entries: [String: Entry] = [:]
    /// Waiting names, oldest first. Answered names are skipped.
    private var order: [(name: String, until: Instant)] = []

    static func makeName() -> String { Hex.text(of: Random.bytes(count: nameBytes)) }

    var count: Int { entries.count }

    mutating func add(_ request: Request, named name: String) { entries[name] = Entry(request: request) }

    /// Starts the wait. Only a stored order can reach the scheduler.
    mutating func startWait(for name: String, at now: Instant) {
        guard entries[name] != nil else { return }
        let until = now.advanced(byMilliseconds: GatewayLimits.replyMilliseconds)
        entries[name]?.until = until
        order.append((name, until))
    }

    /// Removes a request that is answered or given up.
    mutating func remove(named name: String) -> Request? { entries.removeValue(forKey: name)?.request }

    /// Removes and returns the requests that have waited long enough.
    mutating func removeOverdue(at now: Instant) -> [Request] {
        let overdue = order.prefix { $0.until <= now }
        let requests = overdue.compactMap { remove(named: $0.name) }
        order.removeFirst(overdue.count)
        return requests
    }

    /// Returns the time of the next check.
    mutating func nextDeadline() -> Instant? {
        let answered = order.prefix { entries[$0.name] == nil }
        order.removeFirst(answered.count)
        return order.first?.until
    }
}
