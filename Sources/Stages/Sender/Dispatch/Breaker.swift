internal import Lifecycle

/// A breaker that pauses an app whose settings are wrong. It opens after too many wrong tokens, or after a
/// few answers that name the app's setting. While it is open, no token is dropped, and one push at a time
/// probes whether the setting is right again.
struct Breaker: Sendable {
    /// Length of a counting window. The last two windows count together.
    static let windowMilliseconds = 1_000
    /// Lower limit of wrong tokens that opens the breaker.
    static let wrongTokensMin = 20
    /// Lower limit of answers that name the app's setting.
    static let misconfiguredAnswersMin = 3
    /// Lower limit of the share of all answers, for both causes.
    static let wrongShareMin = 0.5
    /// Pause between two probes.
    static let probePauseMilliseconds = 5_000

    private struct AnswerCounts: Sendable {
        /// Answers that say nothing against the app's settings.
        var good = 0
        var wrongTokens = 0
        var misconfigured = 0
    }

    private var current = AnswerCounts()
    private var previous = AnswerCounts()
    private var windowEnd = Instant(nanoseconds: 0)
    /// Time of the last accepted push. It is kept here for `RetryRule`.
    private var acceptedAt: Instant?
    /// The reason from APNs for which it is open; nil if it is closed.
    private(set) var cause: String?
    private var nextProbe = Instant(nanoseconds: 0)
    private(set) var isProbing = false

    var isOpen: Bool { cause != nil }

    // MARK: Answers

    mutating func accepted(_ count: Int, at now: Instant) {
        advanceWindow(to: now)
        current.good += count
        acceptedAt = now
    }

    /// Counts an answer that says nothing about the app's settings. APNs processed the push.
    mutating func answeredOtherwise(at now: Instant) {
        advanceWindow(to: now)
        current.good += 1
    }

    /// Counts a wrong token. Returns whether this opens the breaker.
    mutating func wrongToken(because reason: String, at now: Instant) -> Bool {
        advanceWindow(to: now)
        current.wrongTokens += 1
        let count = current.wrongTokens + previous.wrongTokens
        guard count >= Self.wrongTokensMin, isLargeShare(count) else { return false }
        return open(because: reason, at: now)
    }

    /// Counts an answer that names the app's setting. Returns whether this opens the breaker.
    mutating func misconfigured(because reason: String, at now: Instant) -> Bool {
        advanceWindow(to: now)
        current.misconfigured += 1
        let count = current.misconfigured + previous.misconfigured
        guard count >= Self.misconfiguredAnswersMin, isLargeShare(count) else { return false }
        return open(because: reason, at: now)
    }

    /// Returns whether so many wrong answers are a large share of these and the good ones.
    private func isLargeShare(_ wrongAnswers: Int) -> Bool {
        let answers = wrongAnswers + current.good + previous.good
        return Double(wrongAnswers) >= Self.wrongShareMin * Double(answers)
    }

    /// Returns whether the breaker was closed.
    private mutating func open(because reason: String, at now: Instant) -> Bool {
        let wasClosed = cause == nil
        cause = reason
        isProbing = false
        nextProbe = now.advanced(byMilliseconds: Self.probePauseMilliseconds)
        return wasClosed
    }

    private mutating func advanceWindow(to now: Instant) {
        guard now >= windowEnd else { return }
        let isNextWindow = now < windowEnd.advanced(byMilliseconds: Self.windowMilliseconds)
        previous = isNextWindow ? current : AnswerCounts()
        current = AnswerCounts()
        windowEnd = now.advanced(byMilliseconds: Self.windowMilliseconds)
    }

    // MARK: Probes

    /// Whether one push may probe now.
    func isProbeDue(at now: Instant) -> Bool { isOpen && !isProbing && now >= nextProbe }

    mutating func beginProbe() { isProbing = true }

    /// Ends a probe. Returns whether this closes the breaker.
    ///
    /// - Parameter isMended: whether the answer shows that the app's settings are right.
    mutating func endProbe(isMended: Bool, at now: Instant) -> Bool {
        guard isProbing else { return false }
        isProbing = false
        guard isMended else {
            nextProbe = now.advanced(byMilliseconds: Self.probePauseMilliseconds)
            return false
        }
        cause = nil
        current = AnswerCounts()
        previous = AnswerCounts()
        return true
    }

    /// Ends a probe whose push did not leave. The next push may probe.
    mutating func giveUpProbe() { isProbing = false }

    // MARK: Accepted pushes

    /// Returns the time since a push was accepted; nil if none ever was.
    func millisecondsSinceAccepted(at now: Instant) -> Int? {
        acceptedAt.map { now.milliseconds(since: $0) }
    }
}
