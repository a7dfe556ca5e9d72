internal import Lifecycle

/// A breaker that pauses an app whose settings are wrong. It opens after too many wrong tokens, or after a
/// few answers that name the app's setting. While it is open, no token is dropped, and one push at a time
/// probes whether the setting is right again.
struct Breaker: Sendable {
    /// Length of a counting window. The last two windows count together.
    static let windowMilliseconds = 1_000
    /// Lower limit of wrong tokens that opens the breaker, and their share of all answers.
    static let wrongTokensMin = 20
    static let wrongShare = 0.5
    /// Lower limit of answers that name the app's setting.
    static let misconfiguredMin = 3
    static let probeMilliseconds = 5_000

    private struct AnswerCounts: Sendable {
        var good = 0
        var wrong = 0
        var misconfigured = 0
    }

    private var current = AnswerCounts()
    private var previous = AnswerCounts()
    private var windowEnds = Instant(nanoseconds: 0)
    private var acceptedAt: Instant?
    /// The reason from APNs for which it is open; nil if it is closed.
    private(set) var cause: String?
    private var probeAt = Instant(nanoseconds: 0)
    private(set) var isProbing = false

    var isOpen: Bool { cause != nil }

    mutating func accepted(_ count: Int, at now: Instant) {
        advanceWindow(to: now)
        current.good += count
        acceptedAt = now
    }

    /// Counts an answer that says nothing about the app's settings. APNs processed the push.
    mutating func other(at now: Instant) {
        advanceWindow(to: now)
        current.good += 1
    }

    /// Counts a wrong token. Returns whether this opens the breaker.
    mutating func wrongToken(because reason: String, at now: Instant) -> Bool {
        advanceWindow(to: now)
        current.wrong += 1
        let wrong = current.wrong + previous.wrong
        let all = wrong + current.good + previous.good
        guard wrong >= Self.wrongTokensMin, Double(wrong) >= Self.wrongShare * Double(all) else {
            return false
        }
        return open(because: reason, at: now)
    }

    mutating func misconfigured(because reason: String, at now: Instant) -> Bool {
        advanceWindow(to: now)
        current.misconfigured += 1
        let count = current.misconfigured + previous.misconfigured
        let all = count + current.good + previous.good
        guard count >= Self.misconfiguredMin, Double(count) >= Self.wrongShare * Double(all) else {
            return false
        }
        return open(because: reason, at: now)
    }

    private mutating func open(because reason: String, at now: Instant) -> Bool {
        let isNew = cause == nil
        cause = reason
        isProbing = false
        probeAt = now.advanced(byMilliseconds: Self.probeMilliseconds)
        return isNew
    }

    /// Whether one push may probe now.
    func isProbeDue(at now: Instant) -> Bool { isOpen && !isProbing && now >= probeAt }

    mutating func beginProbe() { isProbing = true }

    /// Ends a probe. Returns whether this closes the breaker.
    mutating func probed(isMended: Bool, at now: Instant) -> Bool {
        guard isProbing else { return false }
        isProbing = false
        guard isMended else {
            probeAt = now.advanced(byMilliseconds: Self.probeMilliseconds)
            return false
        }
        cause = nil
        current = AnswerCounts()
        previous = AnswerCounts()
        return true
    }

    /// Ends a probe whose push did not leave. The next push may probe.
    mutating func gaveUpProbe() { isProbing = false }

    func millisecondsSinceAccepted(at now: Instant) -> Int? {
        acceptedAt.map { now.milliseconds(since: $0) }
    }

    private mutating func advanceWindow(to now: Instant) {
        guard now >= windowEnds else { return }
        let isNext = now < windowEnds.advanced(byMilliseconds: Self.windowMilliseconds)
        previous = isNext ? current : AnswerCounts()
        current = AnswerCounts()
        windowEnds = now.advanced(byMilliseconds: Self.windowMilliseconds)
    }
}
