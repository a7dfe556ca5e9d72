internal import Cryptography
internal import Lifecycle
internal import LiveActivity

/// Requests that wait for the scheduler's replies, by the names that their orders carry. Several gateways may
/// read one partition of `replies`, so an unknown name belongs to another gateway or came too late. Each
/// waiting request counts in `WaitingRoom`, so there are at most `requestsWaitingMax`.
///
/// The scheduler may reply before Kafka's acknowledgement of the order arrives. The reply proves that the
/// order is stored.
struct WaitingReplies<Request> {
    private struct Place {
        let request: Request
        /// The end of the wait. Nil until the order is stored.
        var until: Instant?
    }

    private static var nameBytes: Int { 12 }
    private var places: [String: Place] = [:]
    /// Waiting names, oldest first. Answered names are skipped.
    private var order: [(name: String, until: Instant)] = []

    static func name() -> String { Hex.text(Random.bytes(nameBytes)) }

    var count: Int { places.count }

    mutating func add(_ request: Request, as name: String) { places[name] = Place(request: request) }

    /// Starts the wait. Only a stored order can reach the scheduler.
    mutating func stored(_ name: String, at now: Instant) {
        guard places[name] != nil else { return }
        let until = now.advanced(byMilliseconds: GatewayLimits.replyMilliseconds)
        places[name]?.until = until
        order.append((name, until))
    }

    /// Removes a request that is answered or given up.
    mutating func take(_ name: String) -> Request? { places.removeValue(forKey: name)?.request }

    /// Removes and returns the requests that have waited long enough.
    mutating func takeOverdue(at now: Instant) -> [Request] {
        let over = order.prefix { $0.until <= now }
        let requests = over.compactMap { take($0.name) }
        order.removeFirst(over.count)
        return requests
    }

    /// Returns the time of the next check.
    mutating func next() -> Instant? {
        let answered = order.prefix { places[$0.name] == nil }
        order.removeFirst(answered.count)
        return order.first?.until
    }
}
