/// The unanswered requests of one connection, oldest first. Clients match answers by number, but also
/// rely on their order, so no answer overtakes an earlier one.
struct ResponseQueue {
    /// Answered requests are removed when this many are at the front, so that one removal is cheap.
    private static let answeredMax = 64

    private var exchanges: [RequestExchange] = []
    /// Number of answered requests at the front of `exchanges`.
    private var answeredCount = 0

    var isEmpty: Bool { answeredCount == exchanges.count }
    var count: Int { exchanges.count - answeredCount }
    var first: RequestExchange? { isEmpty ? nil : exchanges[answeredCount] }

    /// Whether all requests are Produce. Only those may overlap: the log keeps their order, and a request
    /// that reads must not run before they are answered.
    var isOnlyProduces: Bool {
        exchanges[answeredCount...].allSatisfy { $0.header.key == APIKey.produce.rawValue }
    }

    mutating func append(_ exchange: RequestExchange) {
        exchanges.append(exchange)
    }

    mutating func removeFirst() {
        answeredCount += 1
        guard answeredCount == exchanges.count || answeredCount >= Self.answeredMax else { return }
        exchanges.removeFirst(answeredCount)
        answeredCount = 0
    }

    mutating func remove(_ exchange: RequestExchange) {
        exchanges.removeFirst(answeredCount)
        answeredCount = 0
        exchanges.removeAll { $0 === exchange }
    }

    /// Removes and returns all unanswered requests, after the connection was closed.
    mutating func removeAll() -> [RequestExchange] {
        let unanswered = Array(exchanges[answeredCount...])
        exchanges = []
        answeredCount = 0
        return unanswered
    }
}
