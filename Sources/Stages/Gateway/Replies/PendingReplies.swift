internal import Containers
internal import Cryptography
internal import Identifiers
internal import Lifecycle

/// Requests that wait for a reply of another stage, by a random name that the request and its reply carry.
/// Several gateways may read one partition of `replies`, so a reply with an unknown name is for another gateway
/// or came too late. Each waiting request counts in `PendingRequestLimit`, so there are at most
/// `GatewayLimits.requestsWaitingMax`.
///
/// The reply may come before Kafka's acknowledgement of the record. The reply proves that the record is stored.
struct PendingReplies<Request> {
    /// The end of the wait of a stored request.
    private struct Deadline: Comparable {
        let instant: Instant
        let name: String

        static func < (a: Deadline, b: Deadline) -> Bool { a.instant < b.instant }
    }

    private static var nameByteCount: Int { 12 }
    private var requests: [String: Request] = [:]
    /// The deadlines of stored requests. The deadline of an answered request stays until it is the earliest.
    private var deadlines = MinHeap<Deadline>()

    static func makeName() -> String { Hex.text(of: Random.bytes(count: nameByteCount)) }

    var count: Int { requests.count }

    /// Adds a request before its records are sent.
    mutating func add(_ request: Request, named name: String) { requests[name] = request }

    /// Starts the wait when the records are stored. If the reply has already come, this does nothing.
    mutating func startWait(for name: String, milliseconds: Int, at now: Instant) {
        guard requests[name] != nil else { return }
        deadlines.push(Deadline(instant: now.advanced(byMilliseconds: milliseconds), name: name))
    }

    /// Removes a request that is answered or given up.
    mutating func remove(named name: String) -> Request? { requests.removeValue(forKey: name) }

    /// Removes and returns the requests that have waited long enough.
    mutating func removeOverdue(at now: Instant) -> [Request] {
        var overdue: [Request] = []
        while let deadline = deadlines.pop(where: { $0.instant <= now }) {
            if let request = remove(named: deadline.name) { overdue.append(request) }
        }
        return overdue
    }

    /// Returns the earliest deadline, or nil if no stored request waits.
    mutating func nextDeadline() -> Instant? {
        while let first = deadlines.first, requests[first.name] == nil { _ = deadlines.pop() }
        return deadlines.first?.instant
    }
}
