package import Lifecycle

/// The pause before a pool connects again after failed connections. Each pause is random, below a limit that
/// doubles with each failure ("full jitter"). A connection counts as a success with its first authorized answer,
/// not when it opens. Otherwise a pool would connect without pause to a server that accepts connections but
/// refuses all work.
package struct Backoff: Sendable {
    /// The limit doubles at most this often, so that the shift cannot overflow.
    private static let doublingsMax = 20

    /// The first and the largest limit, in milliseconds.
    private let limits: ClosedRange<Int>
    /// The number of failed connections since the last success.
    package private(set) var failures = 0
    /// Time before which the pool must not connect.
    package private(set) var nextAttempt = Instant(nanoseconds: 0)

    package init(milliseconds: ClosedRange<Int>) { limits = milliseconds }

    package mutating func recordSuccess() { failures = 0 }

    package mutating func recordFailure(at now: Instant, jitter: inout Jitter) {
        let limit = min(limits.upperBound, limits.lowerBound << min(failures, Self.doublingsMax))
        failures += 1
        nextAttempt = now.advanced(byMilliseconds: jitter.milliseconds(in: 0...limit))
    }
}
