import Lifecycle

/// A condition that becomes true at the nth call.
final class Countdown: Sendable {
    private let remaining: TracedLock<Int>

    init(_ times: Int) { remaining = TracedLock(times) }

    func isOver() -> Bool {
        remaining.withLock { remaining in
            remaining -= 1
            return remaining == 0
        }
    }
}
