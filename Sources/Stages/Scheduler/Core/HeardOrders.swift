/// The time up to which all orders of a partition are known. Kafka has no compare-and-set, so a cancel and a
/// timer can cross. A timer fires only after the scheduler has read every cancel that was acknowledged long
/// enough before the due time.
package struct HeardOrders {
    /// Milliseconds before the due time. A cancel that is acknowledged earlier always wins.
    package static let cancelMilliseconds: Int64 = 2000
    /// The maximum age of the partition's end when timers are about to fire.
    package static let freshMilliseconds: Int64 = 500

    /// Milliseconds since 1970. All orders that were acknowledged before this time are processed.
    private var until: Int64?
    /// The end of the partition, at this time or later.
    private var asked: (time: Int64, end: Int64)?

    package init() {}

    package func mayFire(dueAt: Int64) -> Bool {
        until.map { dueAt - Self.cancelMilliseconds <= $0 } ?? false
    }

    /// Returns whether to ask for the end of the partition.
    package func mustAsk(at time: Int64) -> Bool {
        asked == nil && until.map { time - $0 >= Self.freshMilliseconds } ?? true
    }

    /// - Parameters:
    ///   - time: The time before the question was sent, in milliseconds since 1970.
    ///   - position: The offset below which all orders are processed.
    package mutating func ends(at end: Int64, asked time: Int64, position: Int64) {
        asked = (time, end)
        reached(position)
    }

    /// Notes that all orders below the offset are processed.
    package mutating func reached(_ position: Int64) {
        guard let asked, position >= asked.end else { return }
        until = max(until ?? asked.time, asked.time)
        self.asked = nil
    }
}
