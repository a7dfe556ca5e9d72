internal import Cryptography
internal import Identifiers
internal import Lifecycle

/// Requests that wait for a reply of the scheduler, by a random name that the command and its reply carry.
/// Several gateways may read one partition of `replies`, so a reply with an unknown name is for another gateway
/// or came too late. Each waiting request counts in `PendingRequestLimit`, so there are at most
/// `GatewayLimits.requestsWaitingMax`.
///
/// The scheduler may reply before Kafka's acknowledgement of the command arrives. The reply proves that the
/// command is stored.
struct PendingReplies<Request> {
    private struct Entry {
        let request: Request
        /// The end of the wait. Nil until the command is stored.
        var deadline: Instant?
    }

    private static var nameByteCount: Int { 12 }
    private var entries: [String: Entry] = [:]
    /// The deadlines of stored commands, the earliest first. The name of an answered request stays until it comes
    /// first.
    private var deadlines: [(name: String, deadline: Instant)] = []

    static func makeName() -> String { Hex.text(of: Random.bytes(count: nameByteCount)) }

    var count: Int { entries.count }

    /// Adds a request before its command is sent.
    mutating func add(_ request: Request, named name: String) { entries[name] = Entry(request: request) }

    /// Starts the wait when the command is stored. If the reply has already come, this does nothing.
    mutating func startWait(for name: String, at now: Instant) {
        guard entries[name] != nil else { return }
        let deadline = now.advanced(byMilliseconds: GatewayLimits.schedulerReplyMilliseconds)
        entries[name]?.deadline = deadline
        deadlines.append((name, deadline))
    }

    /// Removes a request that is answered or given up.
    mutating func remove(named name: String) -> Request? { entries.removeValue(forKey: name)?.request }

    /// Removes and returns the requests that have waited long enough.
    mutating func removeOverdue(at now: Instant) -> [Request] {
        let overdue = deadlines.prefix { $0.deadline <= now }
        let requests = overdue.compactMap { remove(named: $0.name) }
        deadlines.removeFirst(overdue.count)
        return requests
    }

    /// Returns the deadline of the request that has waited longest, or nil if none waits.
    mutating func nextDeadline() -> Instant? {
        let answered = deadlines.prefix { entries[$0.name] == nil }
        deadlines.removeFirst(answered.count)
        return deadlines.first?.deadline
    }
}
