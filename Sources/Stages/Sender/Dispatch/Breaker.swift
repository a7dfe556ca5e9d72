internal import Lifecycle

/// A breaker that pauses an app whose settings are wrong. It opens if APNs refuses the proven tokens of many
/// recipients within one to two seconds (`AnswerWindow`), or after a few answers that blame the app's settings. While it is
/// open, an unknown token does not count as dead (`DeadTokenRule`), and one push at a time probes whether the settings are
/// right again.
///
/// A proven token is one that APNs has accepted before. Unproven tokens do not count, because anyone with a report key
/// can invent them. Otherwise such a person could pause all pushes of the app. `UnprovenTokens` handles them.
struct Breaker: Sendable {
    /// Lower limit of recipients with a refused proven token that opens the breaker. One person can have several
    /// tokens, but cannot make many recipients with accepted tokens.
    static let refusedRecipientsMin = 20
    /// Lower limit of answers that blame the app's settings.
    static let misconfiguredAnswersMin = 3
    /// Lower limit of the share of all answers, for both causes.
    static let wrongShareMin = 0.5
    /// Pause between two probes.
    static let probePauseMilliseconds = 5_000

    private struct Counts: AnswerCounts {
        /// Answers that say nothing against the app's settings.
        var good = 0
        /// Refusals of proven tokens.
        var refusedTokens = 0
        /// Fingerprints of recipients whose proven token was refused, up to `refusedRecipientsMin`.
        var refusedRecipients: [UInt64] = []
        /// Answers that blame the app's settings.
        var misconfigured = 0
    }

    private var window = AnswerWindow<Counts>()
    /// Time of the last accepted push. It is kept here for `DeadTokenRule`.
    private var acceptedAt: Instant?
    /// The reason for which it is open: one of APNs, or `no_provider_key`. Nil if it is closed.
    private(set) var cause: String?

    // MARK: State while it is open

    private var nextProbe = Instant(nanoseconds: 0)
    /// Whether a probe is under way.
    private(set) var isProbing = false

    var isOpen: Bool { cause != nil }

    // MARK: Answers

    /// Counts accepted pushes.
    mutating func countAccepted(_ count: Int, at now: Instant) {
        window.advance(to: now)
        window.current.good += count
        acceptedAt = now
    }

    /// Counts an answer that says nothing about the app's settings. APNs processed the push.
    mutating func countOtherAnswer(at now: Instant) {
        window.advance(to: now)
        window.current.good += 1
    }

    /// Counts a refusal of a proven token. Returns whether this opens the breaker.
    ///
    /// - Parameter recipient: fingerprint of the token's recipient.
    mutating func countRefusedToken(of recipient: UInt64, because reason: String, at now: Instant) -> Bool {
        window.advance(to: now)
        window.current.refusedTokens += 1
        noteRefusedRecipient(recipient)
        let recipients = window.current.refusedRecipients.count + window.previous.refusedRecipients.count
        let count = window.current.refusedTokens + window.previous.refusedTokens
        guard recipients >= Self.refusedRecipientsMin, isLargeShare(count) else { return false }
        return open(because: reason, at: now)
    }

    private mutating func noteRefusedRecipient(_ recipient: UInt64) {
        guard window.current.refusedRecipients.count < Self.refusedRecipientsMin,
            !window.current.refusedRecipients.contains(recipient),
            !window.previous.refusedRecipients.contains(recipient)
        else { return }
        window.current.refusedRecipients.append(recipient)
    }

    /// Counts an answer that blames the app's settings. Returns whether this opens the breaker.
    mutating func countMisconfigured(because reason: String, at now: Instant) -> Bool {
        window.advance(to: now)
        window.current.misconfigured += 1
        let count = window.current.misconfigured + window.previous.misconfigured
        guard count >= Self.misconfiguredAnswersMin, isLargeShare(count) else { return false }
        return open(because: reason, at: now)
    }

    /// Returns whether so many wrong answers are at least `wrongShareMin` of these and the good ones.
    private func isLargeShare(_ wrongAnswers: Int) -> Bool {
        let answers = wrongAnswers + window.current.good + window.previous.good
        return Double(wrongAnswers) >= Self.wrongShareMin * Double(answers)
    }

    /// Opens the breaker, or lets it stay open. Returns whether it was closed.
    private mutating func open(because reason: String, at now: Instant) -> Bool {
        let wasClosed = cause == nil
        cause = reason
        isProbing = false
        nextProbe = now.advanced(byMilliseconds: Self.probePauseMilliseconds)
        return wasClosed
    }

    // MARK: Probes

    /// Whether one push may probe now.
    func isProbeDue(at now: Instant) -> Bool { isOpen && !isProbing && now >= nextProbe }

    /// Notes that a push probes. Until it ends, no other push leaves.
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
        window.reset()
        return true
    }

    /// Ends a probe that shows nothing, because its line was not pushed, or because APNs refused an unproven token. The
    /// next push may probe at once, so that invented tokens cannot keep the breaker open.
    mutating func giveUpProbe() { isProbing = false }

    // MARK: Accepted pushes

    /// Returns the time since a push was accepted; nil if none ever was.
    func millisecondsSinceAccepted(at now: Instant) -> Int? {
        acceptedAt.map { now.milliseconds(since: $0) }
    }
}
