internal import Lifecycle

/// The decision by which connections pushes to an app's unproven tokens leave. An unproven token is one that APNs has
/// never accepted, as far as the sheet and this process know.
///
/// Normally unproven tokens use the usual connections: after a first start to millions of new phones all tokens are
/// unproven. But anyone with a report key can invent tokens, and APNs slows down and closes connections with many
/// refusals. So if APNs refuses most unproven tokens, all unproven tokens are *separated*: they use the unproven
/// connections, and proven tokens keep the usual ones. The separation ends when most unproven tokens are accepted again,
/// or after a time. `LineDecision` chooses the connections of a line.
struct UnprovenTokens: Sendable {
    /// Unproven tokens are separated from this number of refusals in the window (`AnswerWindow`) on.
    static let refusedMin = 20
    /// They are separated only if refusals are at least this share of the answers for unproven tokens.
    static let refusedShareMin = 0.5
    /// Unproven tokens stay separated for this time after the last refusal that reached both limits.
    static let separationMilliseconds = 60_000
    /// Limit of accepted tokens that are reported as proven in a second. After a first start to millions of phones, a
    /// report for each token would delay the reports of the phones. The breaker needs only a sample of proven tokens. A
    /// token that is left out is reported after a later push.
    static let reportsPerSecondMax = 200

    private struct Counts: AnswerCounts {
        var accepted = 0
        var refused = 0
        /// Reports of proven tokens.
        var reports = 0
    }

    private var window = AnswerWindow<Counts>()
    /// End of the separation; nil without one.
    private var separatedUntil: Instant?

    /// Whether unproven tokens use the unproven connections.
    func areSeparated(at now: Instant) -> Bool { separatedUntil.map { now < $0 } ?? false }

    /// Counts an accepted unproven token.
    mutating func countAccepted(at now: Instant) {
        window.advance(to: now)
        window.current.accepted += 1
        if separatedUntil != nil, !areMostRefused { separatedUntil = nil }
    }

    /// Counts a refused unproven token. Returns whether the separation begins with it.
    mutating func countRefused(at now: Instant) -> Bool {
        window.advance(to: now)
        window.current.refused += 1
        guard refusedCount >= Self.refusedMin, areMostRefused else { return false }
        let wereSeparated = areSeparated(at: now)
        separatedUntil = now.advanced(byMilliseconds: Self.separationMilliseconds)
        return !wereSeparated
    }

    private var refusedCount: Int { window.current.refused + window.previous.refused }

    private var areMostRefused: Bool {
        let acceptedCount = window.current.accepted + window.previous.accepted
        return Double(refusedCount) >= Self.refusedShareMin * Double(refusedCount + acceptedCount)
    }

    // MARK: Reports of proven tokens

    /// Whether one more token may be reported as proven now. `countAccepted` comes first and advances the window.
    var mayReport: Bool { window.current.reports < Self.reportsPerSecondMax }

    /// Counts a report of a proven token.
    mutating func countReport() { window.current.reports += 1 }
}

/// Tokens that this process has reported as proven, as fingerprints. A sheet that was written before the report reached
/// the registry still calls the token unproven. Here the token counts as proven, and it is not reported again.
struct ProvenTokens: Sendable {
    /// Limit of remembered tokens. A forgotten one is reported once more.
    private static let countMax = 200_000

    private var tokens = BoundedTable<UInt64, Bool>(max: ProvenTokens.countMax)

    func contains(_ token: UInt64) -> Bool { tokens.count > 0 && tokens[token] != nil }
    mutating func insert(_ token: UInt64) { tokens.set(true, for: token) }
}
