/// A FIFO queue of tickets. A ticket whose request has ended stays until it reaches the head or the pool
/// sweeps the queue. Such a ticket is stale.
struct PoolQueue {
    private var tickets: [PoolTicket] = []
    private var head = 0

    var isEmpty: Bool { head == tickets.count }
    var count: Int { tickets.count - head }
    var first: PoolTicket? { isEmpty ? nil : tickets[head] }

    mutating func append(_ ticket: PoolTicket) { tickets.append(ticket) }

    mutating func removeFirst() {
        head += 1
        if head == tickets.count {
            tickets.removeAll(keepingCapacity: true)
            head = 0
        } else if head >= 4_096 {
            tickets.removeSubrange(..<head)
            head = 0
        }
    }

    /// Keeps the tickets for which `isKept` returns true.
    mutating func sweep(_ isKept: (PoolTicket) -> Bool) {
        guard !isEmpty else { return }
        tickets.removeSubrange(..<head)
        head = 0
        tickets.removeAll { !isKept($0) }
    }
}
