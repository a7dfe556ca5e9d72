internal import Lifecycle

/// Counts of APNs' answers in a window of one to two seconds up to now. The window has two halves: the current second
/// and the second before. The user of the window sums both, so that a burst at the border of two seconds counts as one.
struct AnswerWindow<Counts: AnswerCounts>: Sendable {
    /// Length of a half.
    private static var halfMilliseconds: Int { 1_000 }

    /// The counts of the half that has not ended.
    var current = Counts()
    /// The counts of the half before it.
    private(set) var previous = Counts()
    /// End of the current half.
    private var end = Instant(nanoseconds: 0)

    /// Begins a new half if the current one has ended.
    mutating func advance(to now: Instant) {
        if now >= end { beginHalf(at: now) }
    }

    private mutating func beginHalf(at now: Instant) {
        // After a longer time without answers, the current half is too old to be the half before.
        let followsCurrent = now < end.advanced(byMilliseconds: Self.halfMilliseconds)
        previous = followsCurrent ? current : Counts()
        current = Counts()
        end = now.advanced(byMilliseconds: Self.halfMilliseconds)
    }

    /// Forgets all answers.
    mutating func reset() {
        current = Counts()
        previous = Counts()
    }
}

/// The counts of one half of a window.
protocol AnswerCounts: Sendable {
    init()
}
