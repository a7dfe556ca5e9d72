package import Schedules
package import Sends

extension TimerRow {
    /// The fate of a timer that is due.
    package enum DueOutcome: Sendable, Hashable {
        /// The send is written.
        case fires(Send)
        /// The timer is later than its maximum lateness, and its send is not written.
        case expires
    }

    /// Returns the fate of a timer that fires at a time, in milliseconds since 1970. `OrderReadProgress` decides
    /// whether it may fire then.
    package func outcome(at time: Int64) -> DueOutcome {
        if time - dueAt > latenessMillisecondsMax { return .expires }
        var send = send
        // The send counts as accepted at its due time. An installation that changes its recipient later was already
        // reached under the previous recipient, and this send does not reach it again.
        send.acceptedAt = dueAt
        return .fires(send)
    }
}
