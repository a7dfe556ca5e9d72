internal import Lifecycle

/// The time until which no other process can own our lanes. Without a lease no push leaves, and no job is transferred.
///
/// After a suspension of the process the lanes may belong to another process. Only a commit that the group accepts
/// shows that they are still ours.
struct Lease {
    private enum Confirmation: Sendable, Hashable {
        case notNeeded
        /// A commit asks for the confirmation at this time, and another one later, because a commit may fail.
        case needed(nextTry: Instant)
    }

    /// The end of the lease.
    private(set) var until = Instant(nanoseconds: 0)
    private var confirmation = Confirmation.notNeeded

    /// Whether a commit must show that the lanes are still ours.
    var needsConfirmation: Bool { confirmation != .notNeeded }

    func isValid(at now: Instant) -> Bool { now < until }

    /// Sets the end of the lease. A time in the past stops pushes. The time 0 says that there is no lease.
    mutating func set(until end: Instant) {
        until = end
        // A caller that gives a lease knows that the lanes are ours.
        if end.nanoseconds > 0 { confirmation = .notNeeded }
    }

    /// Ends the lease, because the process was suspended so long that the lanes may belong to another one.
    mutating func suspend() {
        until = Instant(nanoseconds: 0)
        confirmation = .needed(nextTry: Instant(nanoseconds: 0))
    }

    /// Forgets that a confirmation is needed, because the lanes are gone.
    mutating func forgetConfirmation() { confirmation = .notNeeded }

    /// Returns whether a commit has to ask for the confirmation now. If so, another commit asks after the pause.
    mutating func takeDueConfirmation(at now: Instant, againInMilliseconds pause: Int) -> Bool {
        guard case .needed(let nextTry) = confirmation, now >= nextTry else { return false }
        confirmation = .needed(nextTry: now.advanced(byMilliseconds: pause))
        return true
    }
}
