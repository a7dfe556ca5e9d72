package import Lifecycle

/// Tells an overtaken transaction of our own, which a new producer heals, from a second process
/// with our id: then each would fence the other for ever, and one of the two must stop.
package struct FencingHistory: Sendable {
    /// Fenced again within this time, the process stops.
    package static let quietMilliseconds = 30_000

    package enum Verdict: Sendable, Equatable {
        case rebuild
        /// Exit status 78.
        case stop
    }

    private var last: Instant?

    package init() {}

    package mutating func fenced(at now: Instant) -> Verdict {
        defer { last = now }
        guard let last, now.milliseconds(since: last) < Self.quietMilliseconds else { return .rebuild }
        return .stop
    }
}
