internal import Lifecycle

/// Counts of APNs' answers in the current window of one second and in the window before. Both are summed, so that a
/// burst at the border of two windows counts as one. The counts are thus of the last one to two seconds.
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
