internal import Lifecycle

/// The time for which APNs has answered none of an app's pushes, and whether the app's sheets therefore make room for
/// other apps.
struct AppSilence: Sendable {
    /// Silence after which an app's sheets make room while APNs answers other apps.
    static let shortMilliseconds = 2_000
    /// Silence after which they make room while APNs answers no app. Such a network failure ends for all apps
    /// at once.
    static let longMilliseconds = 20_000
    /// Silence after which sheets that came from a tier wait there for two minutes.
    static let veryLongMilliseconds = 30_000
    /// Upper bound of the difference between the apps' last answers when the network fails.
    private static let marginMilliseconds = 1_000
    /// An answer to another app counts for this time.
    private static let answerCountsMilliseconds = 2 * shortMilliseconds

    /// The silence of the other apps.
    struct OtherApps: Sendable {
        /// The shortest silence of an app with sheets in hand, in milliseconds.
        var leastMilliseconds = Int.max
        /// Time of the newest answer of APNs to any app.
        var answeredAt: Instant?

        mutating func add(_ silence: AppSilence, hasSheets: Bool, at now: Instant) {
            if let answered = silence.answeredAt { answeredAt = max(answeredAt ?? answered, answered) }
            guard hasSheets, silence.connectingSince == nil else { return }
            leastMilliseconds = min(leastMilliseconds, silence.milliseconds(at: now))
        }
    }

    /// Time since which pushes are in flight or cannot leave and APNs has not answered; nil if nothing waits.
    private(set) var since: Instant?
    private var answeredAt: Instant?
    /// Whether one of the following properties may be set.
    private var mustReset = false
    /// Time since which the first connection is being opened.
    private var connectingSince: Instant?
    /// The last time at which APNs answered no other app.
    private var unansweredUntil: Instant?
    /// Whether its sheets move to a tier if others wait behind them.
    private(set) var blocksOthers = false

    /// Notes that pushes wait for APNs.
    mutating func begin(at now: Instant) {
        if since == nil { since = now }
    }

    /// Notes an answer of APNs.
    mutating func answered(at now: Instant, isMoreInFlight: Bool) {
        since = isMoreInFlight ? now : nil
        answeredAt = now
        // This runs for every push. Nearly always there is nothing else to reset.
        if mustReset { reset() }
    }

    /// Notes that nothing waits any more.
    mutating func end() {
        since = nil
        reset()
    }

    private mutating func reset() {
        mustReset = false
        connectingSince = nil
        unansweredUntil = nil
        blocksOthers = false
    }

    /// Notes whether the first connection is being opened or waits for its turn. Silence begins when the connection
    /// exists or has failed, or takes too long.
    mutating func noteConnecting(_ isConnecting: Bool, at now: Instant) {
        guard isConnecting else {
            connectingSince = nil
            return
        }
        let begin = connectingSince ?? now
        mustReset = true
        connectingSince = begin
        if now.milliseconds(since: begin) < Self.longMilliseconds { since = now }
    }

    /// Returns the length of the silence.
    func milliseconds(at now: Instant) -> Int { since.map { now.milliseconds(since: $0) } ?? 0 }

    /// Decides whether the app blocks others.
    mutating func updateBlocksOthers(beside others: OtherApps, at now: Instant) {
        let silence = milliseconds(at: now)
        guard silence >= Self.shortMilliseconds else {
            blocksOthers = false
            return
        }
        mustReset = true
        if !isAnswered(others, at: now) { unansweredUntil = now }
        // When APNs answers again, the apps do not all get their answers at the same moment. So an app blocks others
        // only after APNs has answered other apps for a short time.
        let othersAnsweredFor = unansweredUntil.map { now.milliseconds(since: $0) } ?? Self.shortMilliseconds
        blocksOthers = othersAnsweredFor >= Self.shortMilliseconds || silence >= Self.longMilliseconds
    }

    /// Whether APNs answers another app, or no push of another app has left yet.
    private func isAnswered(_ others: OtherApps, at now: Instant) -> Bool {
        let silence = milliseconds(at: now)
        let isOtherActive = others.leastMilliseconds < Self.shortMilliseconds
        if isOtherActive, others.leastMilliseconds + Self.marginMilliseconds <= silence { return true }
        guard let answeredAt = others.answeredAt else { return false }
        let answerAge = now.milliseconds(since: answeredAt)
        return answerAge < Self.answerCountsMilliseconds && answerAge + Self.marginMilliseconds <= silence
    }
}
