import Lifecycle

/// A condition that becomes true at the nth call.
final class Countdown: Sendable {
    private let left: TracedLock<Int>

    init(_ times: Int) { left = TracedLock(times) }

    func isOver() -> Bool {
        left.withLock { left in
            left -= 1
            return left == 0
        }
    }
}
