internal import Lifecycle

/// Whether an app's settings are to blame for how its pushes end. Too many wrong tokens, or some answers
/// that speak of the app itself, and pushing pauses: no token is dropped then. One push at a time tries
/// whether it is mended.
struct Breaker: Sendable {
    /// Answers are counted in windows of so long, the last two together.
    static let windowMilliseconds = 1_000
    /// Wrong tokens in a window, at least, and their share of all answers.
    static let wrongTokensMin = 20
    static let wrongShare = 0.5
    /// Answers that name the app's setting, at least.
    static let misconfiguredMin = 3
    static let probeMilliseconds = 5_000

    private struct Count: Sendable {
        var good = 0
        var wrong = 0
        var misconfigured = 0
    }

    private var current = Count()
    private var previous = Count()
    private var windowEnds = Instant(nanoseconds: 0)
    private var acceptedAt: Instant?
    /// Why it is open, in APNs' word.
    private(set) var cause: String?
    private var probeAt = Instant(nanoseconds: 0)
    private(set) var isProbing = false

    var isOpen: Bool { cause != nil }

    mutating func accepted(_ count: Int, at now: Instant) {
        turn(now)
        current.good += count
        acceptedAt = now
    }

    /// A push ended with an answer that says nothing about the app's settings: it was processed.
    mutating func other(at now: Instant) {
        turn(now)
        current.good += 1
    }

    /// True when this opens it.
    mutating func wrongToken(_ reason: String, at now: Instant) -> Bool {
        turn(now)
        current.wrong += 1
        let wrong = current.wrong + previous.wrong
        let all = wrong + current.good + previous.good
        guard wrong >= Self.wrongTokensMin, Double(wrong) >= Self.wrongShare * Double(all) else {
            return false
        }
        return open(reason, now)
    }

    mutating func misconfigured(_ reason: String, at now: Instant) -> Bool {
        turn(now)
        current.misconfigured += 1
        let count = current.misconfigured + previous.misconfigured
        let all = count + current.good + previous.good
        guard count >= Self.misconfiguredMin, Double(count) >= Self.wrongShare * Double(all) else {
            return false
        }
        return open(reason, now)
    }

    private mutating func open(_ reason: String, _ now: Instant) -> Bool {
        let isNew = cause == nil
        cause = reason
        isProbing = false
        probeAt = now.advanced(byMilliseconds: Self.probeMilliseconds)
        return isNew
    }

    /// Whether one push may try now; it is taken as begun.
    mutating func mayProbe(at now: Instant) -> Bool {
        guard isOpen, !isProbing, now >= probeAt else { return false }
        isProbing = true
        return true
    }

    /// The push that tried has ended. True when this closes the breaker.
    mutating func probed(isMended: Bool, at now: Instant) -> Bool {
        guard isProbing else { return false }
        isProbing = false
        guard isMended else {
            probeAt = now.advanced(byMilliseconds: Self.probeMilliseconds)
            return false
        }
        cause = nil
        current = Count()
        previous = Count()
        return true
    }

    /// The push that was to try did not leave: the next one may.
    mutating func gaveUpProbe() { isProbing = false }

    func millisecondsSinceAccepted(at now: Instant) -> Int? {
        acceptedAt.map { now.milliseconds(since: $0) }
    }

    private mutating func turn(_ now: Instant) {
        guard now >= windowEnds else { return }
        let isNext = now < windowEnds.advanced(byMilliseconds: Self.windowMilliseconds)
        previous = isNext ? current : Count()
        current = Count()
        windowEnds = now.advanced(byMilliseconds: Self.windowMilliseconds)
    }
}
