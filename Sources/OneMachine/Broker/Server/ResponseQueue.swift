/// The unanswered requests of one connection, oldest first. Clients match answers by number, but also
/// rely on their order, so an answer never leaves before an earlier request's.
struct ResponseQueue {
    private var exchanges: [RequestExchange] = []
    /// Handled entries at the front of `owed`, kept to make removal cheap.
    private var done = 0

    var isEmpty: Bool { done == exchanges.count }
    var count: Int { exchanges.count - done }
    var first: RequestExchange? { isEmpty ? nil : exchanges[done] }

    /// Whether all requests are appends. Only those may overlap: the log keeps their order, and a request
    /// that reads must not run before they are answered.
    var isOnlyProduces: Bool {
        exchanges[done...].allSatisfy { $0.header.key == APIKey.produce.rawValue }
    }

    mutating func append(_ exchange: RequestExchange) {
        exchanges.append(exchange)
    }

    mutating func removeFirst() {
        done += 1
        guard done == exchanges.count || done >= 64 else { return }
        exchanges.removeFirst(done)
        done = 0
    }

    mutating func remove(_ exchange: RequestExchange) {
        exchanges.removeFirst(done)
        done = 0
        exchanges.removeAll { $0 === exchange }
    }

    /// Returns all unanswered requests, after the connection has gone.
    mutating func removeAll() -> [RequestExchange] {
        let left = Array(exchanges[done...])
        exchanges = []
        done = 0
        return left
    }
}
