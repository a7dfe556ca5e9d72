/// The time up to which the scheduler knows all orders of a partition. A timer fires only after every cancel is known
/// that was acknowledged long enough before the due time.
///
/// Kafka has no compare-and-set, so a cancel and a timer can cross. The scheduler therefore asks for the end of the
/// partition at a known time, and reads the orders up to that end.
package struct OrderReadProgress {
    /// The time before the due time, in milliseconds. A cancel that is acknowledged earlier always wins.
    package static let cancelLeadMilliseconds: Int64 = 2000
    /// The age at which the partition's end is asked for again while timers are about to fire.
    package static let endAgeMillisecondsMax: Int64 = 500

    /// All orders that were acknowledged before this time are processed. In milliseconds since 1970.
    private var knownUntil: Int64?
    /// An end that was asked for at `time`: every order that was acknowledged before lies below it.
    private var requestedEnd: (time: Int64, end: Int64)?

    package init() {}

    /// Whether all cancels are known that win over a timer with this due time.
    package func mayFire(dueAt: Int64) -> Bool {
        knownUntil.map { dueAt - Self.cancelLeadMilliseconds <= $0 } ?? false
    }

    /// Returns whether to ask for the end of the partition.
    package func mustRequestEnd(at time: Int64) -> Bool {
        if requestedEnd != nil { return false }
        guard let knownUntil else { return true }
        return time - knownUntil >= Self.endAgeMillisecondsMax
    }

    /// Notes the end of the partition.
    ///
    /// - Parameters:
    ///   - time: the time before the question was sent, in milliseconds since 1970.
    ///   - position: the offset below which all orders are processed.
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
