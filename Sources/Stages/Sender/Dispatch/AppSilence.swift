internal import Lifecycle

/// The time that an app has waited for APNs, and whether its sheets block other apps.
struct AppSilence: Sendable {
    /// Silence after which an app's sheets make room while APNs answers other apps.
    static let shortMilliseconds = 2_000
    /// Silence after which they make room while APNs answers no app. Such a network failure ends for all apps
    /// at once.
    static let longMilliseconds = 20_000
    /// Silence after which sheets from a tier make room for two minutes at once.
    static let veryLongMilliseconds = 30_000
    /// Upper bound of the difference between the apps' last answers when the network fails.
    private static let marginMilliseconds = 1_000

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
    /// Whether one of the following properties is set.
    private var isNoted = false
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
        if isNoted { forget() }
    }

    /// Notes that nothing waits any more.
    mutating func end() {
        since = nil
        forget()
    }

    private mutating func forget() {
        isNoted = false
        connectingSince = nil
        unansweredUntil = nil
        blocksOthers = false
    }

    /// Notes whether the first connection is being opened or waits for its turn. Silence begins when it
    /// exists or has failed.
    mutating func connects(_ isConnecting: Bool, at now: Instant) {
        guard isConnecting else {
            connectingSince = nil
            return
        }
        let begin = connectingSince ?? now
        isNoted = true
        connectingSince = begin
        if now.milliseconds(since: begin) < Self.longMilliseconds { since = now }
    }

    func milliseconds(at now: Instant) -> Int { since.map { now.milliseconds(since: $0) } ?? 0 }

    /// Decides whether the app blocks others.
    mutating func judge(beside others: OtherApps, at now: Instant) {
        let silence = milliseconds(at: now)
        guard silence >= Self.shortMilliseconds else {
            blocksOthers = false
            return
        }
        isNoted = true
        if !isAnswered(others, at: now) { unansweredUntil = now }
        // When APNs answers again, the apps do not all get their answers at the same moment.
        let grace = unansweredUntil.map { now.milliseconds(since: $0) } ?? Self.shortMilliseconds
        blocksOthers = grace >= Self.shortMilliseconds || silence >= Self.longMilliseconds
    }

    /// Whether APNs answers another app, or no push of another app has left yet.
    private func isAnswered(_ others: OtherApps, at now: Instant) -> Bool {
        let silence = milliseconds(at: now)
        if others.leastMilliseconds < Self.shortMilliseconds,
            others.leastMilliseconds + Self.marginMilliseconds <= silence
        {
            return true
        }
        guard let answeredAt = others.answeredAt else { return false }
        let ago = now.milliseconds(since: answeredAt)
        return ago < 2 * Self.shortMilliseconds && ago + Self.marginMilliseconds <= silence
    }
}
