internal import Lifecycle

/// A breaker that pauses an app whose settings are wrong. While it is open, one push at a time probes whether the
/// settings are right again, and a token that APNs refuses as unknown does not count as dead (`DeadTokenRule`).
///
/// Two kinds of wrong answers open the breaker, if they are many within one to two seconds (`AnswerWindow`):
/// - refusals of the proven tokens of many recipients. A proven token is one that APNs has accepted before.
/// - answers that blame the app's settings. A few are enough.
///
/// Refusals of unproven tokens do not count, because anyone with a report key can invent such tokens and could pause
/// all pushes of the app. `UnprovenTokens` handles them.
struct Breaker: Sendable {
    /// The breaker opens when the proven tokens of at least this many recipients were refused. Recipients are counted,
    /// because one person can have several tokens, but cannot make many recipients with accepted tokens.
    static let refusedRecipientsMin = 20
    /// The breaker opens when at least this many answers blame the app's settings.
    static let misconfiguredAnswersMin = 3
    /// The breaker opens only if the wrong answers of one kind are at least this share of those answers and the good
    /// ones together. Wrong answers of the other kind are left out.
    static let wrongShareMin = 0.5
    /// Pause before a probe, after the breaker has opened or a probe has failed.
    static let probePauseMilliseconds = 5_000

    private struct Counts: AnswerCounts {
        /// Accepted pushes, and answers that neither blame the app's settings nor refuse the token as unknown.
        var good = 0
        /// Refusals of proven tokens.
        var refusedTokens = 0
        /// Fingerprints of recipients whose proven token was refused, up to `refusedRecipientsMin`.
        var refusedRecipients: [UInt64] = []
        /// Answers that blame the app's settings.
        var misconfigured = 0
    }

    private var window = AnswerWindow<Counts>()
    /// While it is open, the reason of the last wrong answer of APNs, or `no_provider_key`. Nil while it is closed.
    private(set) var cause: String?

    // MARK: State while it is open

    private var nextProbe = Instant(nanoseconds: 0)
    /// Whether a probe is under way.
    private(set) var isProbing = false

    var isOpen: Bool { cause != nil }

    // MARK: Answers

    /// Counts a good answer (`Counts.good`).
    mutating func countGoodAnswer(at now: Instant) {
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
        let areManyRecipients = refusedRecipientCount >= Self.refusedRecipientsMin
        guard areManyRecipients, isLargeShare(refusedTokenCount) else { return false }
        return open(because: reason, at: now)
    }

    private mutating func noteRefusedRecipient(_ recipient: UInt64) {
        guard window.current.refusedRecipients.count < Self.refusedRecipientsMin,
            !window.current.refusedRecipients.contains(recipient)
        else { return }
        window.current.refusedRecipients.append(recipient)
    }

    /// Counts an answer that blames the app's settings. Returns whether this opens the breaker.
    mutating func countMisconfigured(because reason: String, at now: Instant) -> Bool {
        window.advance(to: now)
        window.current.misconfigured += 1
        let areEnough = misconfiguredCount >= Self.misconfiguredAnswersMin
        guard areEnough, isLargeShare(misconfiguredCount) else { return false }
        return open(because: reason, at: now)
    }

    // MARK: Sums of both halves of the window

    private var goodCount: Int { window.current.good + window.previous.good }
    private var refusedTokenCount: Int { window.current.refusedTokens + window.previous.refusedTokens }
    private var misconfiguredCount: Int { window.current.misconfigured + window.previous.misconfigured }
    /// Number of different recipients.
    private var refusedRecipientCount: Int {
        let earlier = window.previous.refusedRecipients
        return earlier.count + window.current.refusedRecipients.count { !earlier.contains($0) }
    }

    /// Returns whether wrong answers of one kind have the share `wrongShareMin`.
    private func isLargeShare(_ wrongCount: Int) -> Bool {
        Double(wrongCount) >= Self.wrongShareMin * Double(wrongCount + goodCount)
    }

    // MARK: Opening and probes

    /// Opens the breaker, or postpones the next probe if it is open. Returns whether it was closed. A probe that is
    /// under way goes on, because the wrong answer may belong to an older push.
    private mutating func open(because reason: String, at now: Instant) -> Bool {
        let wasClosed = cause == nil
        cause = reason
        nextProbe = now.advanced(byMilliseconds: Self.probePauseMilliseconds)
        return wasClosed
    }

    /// Whether one push may probe now.
    func isProbeDue(at now: Instant) -> Bool { isOpen && !isProbing && now >= nextProbe }

    /// The result of a probe.
    enum ProbeResult: Sendable, Hashable {
        /// APNs accepted the push, or its answer shows that the app's settings are right. The breaker closes.
        case passed
        /// The settings are wrong, or it is unknown whether they are.
        case tryAgainAfterPause
        /// APNs did not process the push, or refused an unproven token. The next push may probe at once, so that
        /// invented tokens cannot keep the breaker open.
        case tryAgainAtOnce
    }

    /// Notes that a push probes. Until the probe ends, no other push of the app leaves.
    mutating func beginProbe() { isProbing = true }

    /// Ends a probe. Returns whether this closes the breaker.
    mutating func endProbe(as result: ProbeResult, at now: Instant) -> Bool {
        guard isProbing else { return false }
        isProbing = false
        switch result {
        case .passed:
            cause = nil
            window.reset()
        case .tryAgainAfterPause: nextProbe = now.advanced(byMilliseconds: Self.probePauseMilliseconds)
        case .tryAgainAtOnce: break
        }
        return result == .passed
    }
}
