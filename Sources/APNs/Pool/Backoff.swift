package import Lifecycle

/// How long a pool waits after connections that came to nothing: a random part of a limit that doubles
/// each time ("full jitter"). A connection counts as a success with its first authorised answer, not
/// when it is there: a server that takes connections and refuses all work must not be hammered.
package struct Backoff: Sendable {
    private let limits: ClosedRange<Int>
    package private(set) var failures = 0
    package private(set) var nextAttempt = Instant(nanoseconds: 0)

    package init(milliseconds: ClosedRange<Int>) { limits = milliseconds }

    package mutating func succeeded() { failures = 0 }

    package mutating func failed(at now: Instant, _ jitter: inout Jitter) {
        let limit = min(limits.upperBound, limits.lowerBound << min(failures, 20))
        failures += 1
        nextAttempt = now.advanced(byMilliseconds: jitter.milliseconds(in: 0...limit))
    }
}
