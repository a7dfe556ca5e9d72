internal import Lifecycle

/// A breaker that pauses an app whose settings are wrong. It opens if APNs refuses the proven tokens of many recipients
/// within one to two seconds (`AnswerWindow`), or after a few answers that blame the app's settings. While it is open,
/// a token that APNs refuses as unknown does not count as dead (`DeadTokenRule`), and one push at a time probes whether
/// the settings are right again.
///
/// A proven token is one that APNs has accepted before. Unproven tokens do not count, because anyone with a report key
/// can invent them. Otherwise such a person could pause all pushes of the app. `UnprovenTokens` handles them.
struct Breaker: Sendable {
    /// The breaker opens from this number of recipients whose proven token was refused. One person can have several
    /// tokens, but cannot make many recipients with accepted tokens.
    static let refusedRecipientsMin = 20
    /// The breaker opens from this number of answers that blame the app's settings.
    static let misconfiguredAnswersMin = 3
    /// The least share that opens the breaker: of refusals among refusals and good answers, or of answers that blame
    /// the settings among these and good answers. The two kinds of wrong answers are not added up.
    static let wrongShareMin = 0.5
    /// Pause between two probes.
    static let probePauseMilliseconds = 5_000

    private struct Counts: AnswerCounts {
        /// Accepted pushes, and all other answers that do not blame the app's settings.
        var good = 0
        /// Refusals of proven tokens.
        var refusedTokens = 0
        /// Fingerprints of recipients whose proven token was refused, up to `refusedRecipientsMin`.
        var refusedRecipients: [UInt64] = []
        /// Answers that blame the app's settings.
        var misconfigured = 0
    }

    private var window = AnswerWindow<Counts>()
    /// The reason for which it is open: one of APNs, or `no_provider_key`. Nil if it is closed.
    private(set) var cause: String?

    // MARK: State while it is open

    private var nextProbe = Instant(nanoseconds: 0)
    /// Whether a probe is under way.
    private(set) var isProbing = false

    var isOpen: Bool { cause != nil }

    // MARK: Answers

    /// Counts an accepted push, or another answer that does not blame the app's settings.
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
        let recipients = refusedRecipientCount
        let count = window.current.refusedTokens + window.previous.refusedTokens
        guard recipients >= Self.refusedRecipientsMin, isLargeShare(count) else { return false }
        return open(because: reason, at: now)
    }

    private mutating func noteRefusedRecipient(_ recipient: UInt64) {
        guard window.current.refusedRecipients.count < Self.refusedRecipientsMin,
            !window.current.refusedRecipients.contains(recipient)
        else { return }
        window.current.refusedRecipients.append(recipient)
    }

    /// Number of different recipients in both windows.
    private var refusedRecipientCount: Int {
        let earlier = window.previous.refusedRecipients
        return earlier.count + window.current.refusedRecipients.count { !earlier.contains($0) }
    }

    /// Counts an answer that blames the app's settings. Returns whether this opens the breaker.
    mutating func countMisconfigured(because reason: String, at now: Instant) -> Bool {
        window.advance(to: now)
        window.current.misconfigured += 1
        let count = window.current.misconfigured + window.previous.misconfigured
        guard count >= Self.misconfiguredAnswersMin, isLargeShare(count) else { return false }
        return open(because: reason, at: now)
    }

    /// Returns whether this number of wrong answers is at least `wrongShareMin` of the wrong and the good answers.
    private func isLargeShare(_ wrongAnswers: Int) -> Bool {
        let answers = wrongAnswers + window.current.good + window.previous.good
        return Double(wrongAnswers) >= Self.wrongShareMin * Double(answers)
    }

    /// Opens the breaker, or lets it stay open. Returns whether it was closed. A probe that is under way goes on,
    /// because refusals of older pushes may still come.
    private mutating func open(because reason: String, at now: Instant) -> Bool {
        let wasClosed = cause == nil
        cause = reason
        nextProbe = now.advanced(byMilliseconds: Self.probePauseMilliseconds)
        return wasClosed
    }

    // MARK: Probes

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
