/// The time up to which the scheduler knows all commands of a partition of `schedules`. A timer fires only when every
/// cancel is known that was acknowledged long enough before the due time.
///
/// Kafka has no compare-and-set, so a cancel and a timer can cross. The scheduler therefore asks for the end of the
/// partition at a known time, and processes the commands up to that end. All times are milliseconds since 1970, by the
/// cluster's clock.
package struct CommandReadProgress {
    /// A cancel that is acknowledged at least this long before the due time always wins.
    package static let cancelLeadMilliseconds: Int64 = 2000
    /// The age from which the known time is too old, so that the end is asked for again. `SchedulerDecider`
    /// asks only while a timer is nearly due.
    package static let endAgeMillisecondsMax: Int64 = 500

    /// An end of the partition. Every command that was acknowledged before `time` lies below `offset`.
    private struct CommandEnd {
        let time: Int64
        let offset: Int64
    }

    /// All commands that were acknowledged before this time are processed. Nil if no time is known.
    private var knownUntil: Int64?
    /// The newest end, until all commands below it are processed.
    private var awaitedEnd: CommandEnd?

    package init() {}

    /// Whether all cancels are known that win over a timer with this due time.
    package func mayFire(dueAt: Int64) -> Bool {
        knownUntil.map { dueAt - Self.cancelLeadMilliseconds <= $0 } ?? false
    }

    /// Returns whether to ask for the end of the partition now.
    package func mustRequestEnd(at time: Int64) -> Bool {
        if awaitedEnd != nil { return false }
        guard let knownUntil else { return true }
        return time - knownUntil >= Self.endAgeMillisecondsMax
    }

    /// Notes the end of the partition.
    ///
    /// - Parameters:
    ///   - time: a time before the end was asked for.
    ///   - position: the offset below which all commands are processed.
    package mutating func recordEnd(at end: Int64, requestedAt time: Int64, position: Int64) {
        awaitedEnd = CommandEnd(time: time, offset: end)
        advance(to: position)
    }

    /// Notes that all commands below the offset are processed.
    package mutating func advance(to position: Int64) {
        guard let awaitedEnd, position >= awaitedEnd.offset else { return }
        knownUntil = max(knownUntil ?? awaitedEnd.time, awaitedEnd.time)
        self.awaitedEnd = nil
    }
}
