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

    /// Returns the fate of a timer that fires at a time, in milliseconds since 1970. `CommandReadProgress` decides
    /// whether it may fire then.
    package func outcome(at time: Int64) -> DueOutcome {
        if time - dueAt > latenessMillisecondsMax { return .expires }
        var send = send
        // The send counts as accepted at its due time. An installation that changes its recipient later was already
        // reached under the previous recipient, and this send does not reach it again.
        send.acceptedAt = dueAt
        return .fires(send)
    }

    /// Returns the record that names the schedule behind the send, for the attribution of taps. Nil for the automatic
    /// end of a group, which has no schedule.
    ///
    /// - Parameter time: the time of the firing, in milliseconds since 1970.
    func firedProgress(of send: Send, at time: Int64) -> ProgressRecord? {
        guard let id, let key = send.scopeKey else { return nil }
        return ProgressRecord(
            send: send.id, key: key, isDryRun: send.isDryRun, acceptedAt: send.acceptedAt, writtenAt: time,
            part: .schedule(ProgressRecord.FiredSchedule(id: id, name: name)))
    }
}
