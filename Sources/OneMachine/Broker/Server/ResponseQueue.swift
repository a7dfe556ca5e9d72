/// The unanswered requests of one connection, oldest first. Clients match answers by number, but also
/// rely on their order, so an answer never leaves before an earlier request's.
struct ResponseQueue {
    private var owed: [Exchange] = []
    /// Handled entries at the front of `owed`, kept to make removal cheap.
    private var done = 0

    var isEmpty: Bool { done == owed.count }
    var count: Int { owed.count - done }
    var first: Exchange? { isEmpty ? nil : owed[done] }

    /// Whether all requests are appends. Only those may overlap: the log keeps their order, and a request
    /// that reads must not run before they are answered.
    var isOnlyProduces: Bool {
        owed[done...].allSatisfy { $0.header.key == APIKey.produce.rawValue }
    }

    mutating func append(_ exchange: Exchange) {
        owed.append(exchange)
    }

    mutating func removeFirst() {
        done += 1
        guard done == owed.count || done >= 64 else { return }
        owed.removeFirst(done)
        done = 0
    }

    mutating func remove(_ exchange: Exchange) {
        owed.removeFirst(done)
        done = 0
        owed.removeAll { $0 === exchange }
    }

    /// Returns all unanswered requests, after the connection has gone.
    mutating func removeAll() -> [Exchange] {
        let left = Array(owed[done...])
        owed = []
        done = 0
        return left
    }
}
