package import Schedules
package import Sends

/// A send that a lookup has found.
package struct FoundSend: Sendable {
    package let progress: SendProgress
    /// The owner of the timer, if the send waits for its time.
    package var timerOwner: ScheduleOwner?
}
