/// The answers that one connection owes, oldest first. Clients match answers by number but rely on
/// their order all the same, so an answer never leaves before those of earlier requests.
struct ResponseQueue {
    private var owed: [Exchange] = []
    /// Handled entries at the front of `owed`, kept to make removal cheap.
    private var done = 0

    var isEmpty: Bool { done == owed.count }
    var count: Int { owed.count - done }
    var first: Exchange? { isEmpty ? nil : owed[done] }

    /// Requests overlap only when all of them are appends: their order on disk is their order here,
    /// and nothing that asks about them may run before they are answered.
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

    /// Everything owed; the connection is gone.
    mutating func removeAll() -> [Exchange] {
        let left = Array(owed[done...])
        owed = []
        done = 0
        return left
    }
}
