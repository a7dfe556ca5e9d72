import Lifecycle

/// A count of calls that finds the nth one.
final class Countdown: Sendable {
    private let remaining: TracedLock<Int>

    init(_ times: Int) { remaining = TracedLock(times) }

    /// Counts a call. Returns true at the nth call only.
    func countDown() -> Bool {
        remaining.withLock { remaining in
            remaining -= 1
            return remaining == 0
        }
    }
}
