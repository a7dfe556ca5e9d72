/// The time up to which all orders of a partition are known. Kafka has no compare-and-set, so a cancel and a
/// timer can cross. A timer fires only after the scheduler has read every cancel that was acknowledged long
/// enough before the due time.
package struct OrderReadProgress {
    /// Milliseconds before the due time. A cancel that is acknowledged earlier always wins.
    package static let cancelLeadMilliseconds: Int64 = 2000
    /// The maximum age of the partition's end when timers are about to fire.
    package static let endAgeMillisecondsMax: Int64 = 500

    /// Milliseconds since 1970. All orders that were acknowledged before this time are processed.
    private var knownUntil: Int64?
    /// The end of the partition, at this time or later.
    private var requestedEnd: (time: Int64, end: Int64)?

    package init() {}

    package func mayFire(dueAt: Int64) -> Bool {
        knownUntil.map { dueAt - Self.cancelLeadMilliseconds <= $0 } ?? false
    }

    /// Returns whether to ask for the end of the partition.
    package func mustRequestEnd(at time: Int64) -> Bool {
        requestedEnd == nil && knownUntil.map { time - $0 >= Self.endAgeMillisecondsMax } ?? true
    }

    /// - Parameters:
    ///   - time: The time before the question was sent, in milliseconds since 1970.
    ///   - position: The offset below which all orders are processed.
    package mutating func recordEnd(at end: Int64, requestedAt time: Int64, position: Int64) {
        requestedEnd = (time, end)
        advance(to: position)
    }

    /// Notes that all orders below the offset are processed.
    package mutating func advance(to position: Int64) {
        guard let requestedEnd, position >= requestedEnd.end else { return }
        knownUntil = max(knownUntil ?? requestedEnd.time, requestedEnd.time)
        self.requestedEnd = nil
    }
}
