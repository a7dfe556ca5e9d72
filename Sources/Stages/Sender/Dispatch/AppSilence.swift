internal import Lifecycle

/// The silence of an app: the time for which APNs has answered none of the app's pushes although some wait for APNs.
/// The sheets of a silent app block those of other apps. Then they make room (`SheetEviction`).
///
/// If one app alone is silent, for example because its connection is broken, it counts as blocking after a short
/// silence (`shortMilliseconds`). If APNs answers no app, the network has failed, and all apps continue when it is
/// back. So in this case an app counts as blocking only after a long silence (`longMilliseconds`).
struct AppSilence: Sendable {
    /// Silence after which an app blocks others while APNs answers other apps.
    static let shortMilliseconds = 2_000
    /// Silence after which an app blocks others while APNs answers no app.
    static let longMilliseconds = 20_000
    /// Silence after which sheets that come from a tier move to the long tier (`SheetEviction.tier`).
    static let veryLongMilliseconds = 30_000
    /// When the network fails, the last answers to all apps lie within this time. So an app is silent alone only if
    /// APNs answered another app this much later.
    private static let networkFailureSpreadMilliseconds = 1_000
    /// Time for which an answer to another app shows that the network works.
    private static let answerCountsMilliseconds = 2 * shortMilliseconds

    /// Start of the silence; nil if no push waits for an answer or for a connection.
    private(set) var startedAt: Instant?
    /// Time of the newest answer to the app.
    private var answeredAt: Instant?

    // MARK: State that the next answer resets

    /// Whether one of the following properties may be set.
    private var hasStateToReset = false
    /// Time since which the first connection is being opened.
    private var connectingSince: Instant?
    /// The newest check that found that APNs answers no other app; nil if each check of the silence found answers.
    private var othersUnansweredAt: Instant?
    /// Whether the app counts as blocking: its sheets move to a tier if others wait behind them.
    private(set) var blocksOthers = false

    /// Notes that pushes wait for APNs from now on, unless some wait already.
    mutating func startWaiting(at now: Instant) {
        if startedAt == nil { startedAt = now }
    }

    /// Notes an answer of APNs.
    mutating func answered(at now: Instant, isMoreInFlight: Bool) {
        startedAt = isMoreInFlight ? now : nil
        answeredAt = now
        // This runs for every push. Nearly always there is nothing else to reset.
        if hasStateToReset { reset() }
    }

    /// Notes that no push waits any more.
    mutating func end() {
        startedAt = nil
        reset()
    }

    private mutating func reset() {
        hasStateToReset = false
        connectingSince = nil
        othersUnansweredAt = nil
        blocksOthers = false
    }

    /// Notes whether the app's first connection is still being opened. The silence begins only when the connection
    /// exists or has failed, or takes longer than `longMilliseconds`.
    mutating func noteConnecting(_ isConnecting: Bool, at now: Instant) {
        guard isConnecting else {
            connectingSince = nil
            return
        }
        let connectStart = connectingSince ?? now
        hasStateToReset = true
        connectingSince = connectStart
        // This is not silence yet, so its start moves on with the time.
        if now.milliseconds(since: connectStart) < Self.longMilliseconds { startedAt = now }
    }

    /// Returns the length of the silence.
    func durationMilliseconds(at now: Instant) -> Int { startedAt.map { now.milliseconds(since: $0) } ?? 0 }

    /// Decides whether the app blocks others.
    ///
    /// - Parameter all: all apps of the loop, including this one.
    mutating func updateBlocksOthers(among all: AllApps, at now: Instant) {
        let silence = durationMilliseconds(at: now)
        guard silence >= Self.shortMilliseconds else {
            blocksOthers = false
            return
        }
        hasStateToReset = true
        if !isAnotherAppAnswered(all, at: now) { othersUnansweredAt = now }
        // After a network failure the apps do not all get their answers at the same moment. So an app blocks others
        // only after APNs has answered other apps for a short time.
        let othersAnsweredFor =
            othersUnansweredAt.map { now.milliseconds(since: $0) } ?? Self.shortMilliseconds
        blocksOthers = othersAnsweredFor >= Self.shortMilliseconds || silence >= Self.longMilliseconds
    }

    /// Whether APNs answers another app: another app with sheets is not silent or only for a short time, or APNs has
    /// answered another app lately. Both count only if they are clearly later than the start of this app's silence, so
    /// that a network failure does not look like the silence of one app.
    private func isAnotherAppAnswered(_ all: AllApps, at now: Instant) -> Bool {
        let silence = durationMilliseconds(at: now)
        func isClearlyAfterStart(_ millisecondsAgo: Int) -> Bool {
            millisecondsAgo + Self.networkFailureSpreadMilliseconds <= silence
        }
        let shortest = all.shortestMilliseconds
        let isAnotherActive = shortest < Self.shortMilliseconds && isClearlyAfterStart(shortest)
        let answerAge = all.answeredAt.map { now.milliseconds(since: $0) } ?? .max
        let wasRecentlyAnswered = answerAge < Self.answerCountsMilliseconds && isClearlyAfterStart(answerAge)
        return isAnotherActive || wasRecentlyAnswered
    }
}

extension AppSilence {
    /// The silences of all apps and APNs' newest answer, with which each app is compared. The app itself is included,
    /// but makes no difference: neither its silence nor its own answer is clearly later than the start of its silence
    /// (`networkFailureSpreadMilliseconds`).
    struct AllApps: Sendable {
        /// The shortest silence of an app with sheets in hand, in milliseconds.
        var shortestMilliseconds = Int.max
        /// Time of the newest answer of APNs to any app.
        var answeredAt: Instant?

        /// Adds an app. An app whose first connection is still being opened has not begun its silence.
        mutating func add(_ silence: AppSilence, hasSheets: Bool, at now: Instant) {
            if let answered = silence.answeredAt { answeredAt = max(answeredAt ?? answered, answered) }
            guard hasSheets, silence.connectingSince == nil else { return }
            shortestMilliseconds = min(shortestMilliseconds, silence.durationMilliseconds(at: now))
        }
    }
}
