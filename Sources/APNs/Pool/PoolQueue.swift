/// Tickets in the order in which they came. What ended meanwhile stays until it is met: its ticket is
/// stale, and the pool's sweep takes it out.
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

    /// Keeps those for which the closure says so.
    mutating func sweep(_ isKept: (PoolTicket) -> Bool) {
        guard !isEmpty else { return }
        tickets.removeSubrange(..<head)
        head = 0
        tickets.removeAll { !isKept($0) }
    }
}
