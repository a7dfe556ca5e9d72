internal import Cryptography
internal import Lifecycle
internal import LiveActivity

/// Requests that wait for what the scheduler says to their orders, by the names that their orders carry. Several
/// gateways may read one partition of `replies`: a name that is not here is another's, or came too late. Who
/// waits holds a place of `WaitingRoom`, so that there are never more than `requestsWaitingMax`.
///
/// The scheduler may answer before the acknowledgement of the order has come back: then the order is surely stored.
struct WaitingReplies<Request> {
    private struct Place {
        let request: Request
        /// Nil until the order is stored.
        var until: Instant?
    }

    private static var nameBytes: Int { 12 }
    private var places: [String: Place] = [:]
    /// Oldest first; those that have been answered meanwhile are passed over.
    private var order: [(name: String, until: Instant)] = []

    static func name() -> String { Hex.text(Random.bytes(nameBytes)) }

    var count: Int { places.count }

    mutating func add(_ request: Request, as name: String) { places[name] = Place(request: request) }

    /// From here on the scheduler can know of it.
    mutating func stored(_ name: String, at now: Instant) {
        guard places[name] != nil else { return }
        let until = now.advanced(byMilliseconds: GatewayLimits.replyMilliseconds)
        places[name]?.until = until
        order.append((name, until))
    }

    /// It has its answer, or is given up.
    mutating func take(_ name: String) -> Request? { places.removeValue(forKey: name)?.request }

    /// Those that have waited long enough.
    mutating func takeOverdue(at now: Instant) -> [Request] {
        let over = order.prefix { $0.until <= now }
        let requests = over.compactMap { take($0.name) }
        order.removeFirst(over.count)
        return requests
    }

    /// When to look again.
    mutating func next() -> Instant? {
        let answered = order.prefix { places[$0.name] == nil }
        order.removeFirst(answered.count)
        return order.first?.until
    }
}
