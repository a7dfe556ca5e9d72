internal import Lifecycle

/// Counts of answers over the last one to two windows of one second. The current window and the one before count
/// together, so that a burst at the border of two windows counts as one.
struct AnswerWindow<Counts: AnswerCounts>: Sendable {
    /// Length of a window.
    static var milliseconds: Int { 1_000 }

    var current = Counts()
    private(set) var previous = Counts()
    private var end = Instant(nanoseconds: 0)

    /// Begins a new window if the current one has ended.
    mutating func advance(to now: Instant) {
        if now >= end { begin(at: now) }
    }

    private mutating func begin(at now: Instant) {
        let isNextWindow = now < end.advanced(byMilliseconds: Self.milliseconds)
        previous = isNextWindow ? current : Counts()
        current = Counts()
        end = now.advanced(byMilliseconds: Self.milliseconds)
    }

    /// Forgets all answers.
    mutating func reset() {
        current = Counts()
        previous = Counts()
    }
}

/// The counts of one window.
protocol AnswerCounts: Sendable {
    init()
}
