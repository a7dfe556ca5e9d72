internal import Lifecycle

/// The time until which no other process can own our lanes. Without a lease no push leaves, and no job is transferred.
struct Lease {
    /// Whether a commit must show that the lanes are still ours.
    private enum Confirmation: Sendable, Hashable {
        case notNeeded
        /// A commit asks for it at this time, and again later, because a commit may fail.
        case needed(nextTry: Instant)
    }

    /// The end of the lease.
    private(set) var until = Instant(nanoseconds: 0)
    private var confirmation = Confirmation.notNeeded

    var needsConfirmation: Bool { confirmation != .notNeeded }

    func isValid(at now: Instant) -> Bool { now < until }

    /// Sets the end of the lease. A time in the past stops pushes.
    mutating func extend(until end: Instant) {
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

    /// Returns whether a commit has to ask for the confirmation now. Then the next one asks after a pause.
    mutating func asksForConfirmation(at now: Instant, againInMilliseconds pause: Int) -> Bool {
        guard case .needed(let nextTry) = confirmation, now >= nextTry else { return false }
        confirmation = .needed(nextTry: now.advanced(byMilliseconds: pause))
        return true
    }
}
