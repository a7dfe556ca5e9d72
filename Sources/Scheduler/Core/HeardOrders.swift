/// Until when all orders of a partition are known. Kafka cannot compare and set, so that a cancel and a timer can
/// cross; a timer goes only when every cancel was heard that was acknowledged so long before it was due.
package struct HeardOrders {
    /// Milliseconds before the due time: a cancel acknowledged earlier always wins.
    package static let cancelMilliseconds: Int64 = 2000
    /// How old the answer may be when timers are about to go.
    package static let freshMilliseconds: Int64 = 500

    /// Milliseconds since 1970; all that was acknowledged before is decided.
    private var until: Int64?
    /// The partition had this end, no earlier than then.
    private var asked: (time: Int64, end: Int64)?

    package init() {}

    package func mayFire(dueAt: Int64) -> Bool {
        until.map { dueAt - Self.cancelMilliseconds <= $0 } ?? false
    }

    /// It should be asked where the partition ends.
    package func mustAsk(at time: Int64) -> Bool {
        asked == nil && until.map { time - $0 >= Self.freshMilliseconds } ?? true
    }

    /// - Parameters:
    ///   - time: before it was asked; milliseconds since 1970.
    ///   - position: everything below is decided.
    package mutating func ends(at end: Int64, asked time: Int64, position: Int64) {
        asked = (time, end)
        reached(position)
    }

    /// Everything below the offset is decided.
    package mutating func reached(_ position: Int64) {
        guard let asked, position >= asked.end else { return }
        until = max(until ?? asked.time, asked.time)
        self.asked = nil
    }
}
