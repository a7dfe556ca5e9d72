internal import Lifecycle

/// The silence of an app: the time for which APNs has answered none of the app's pushes although some wait for it. A
/// silent app blocks others, so its sheets make room for theirs (`SheetEviction`).
///
/// It happens to one app, for example with a broken connection, or to all apps, if the network fails. In the first case
/// the app blocks others after a short silence, in the second case after a long one.
struct AppSilence: Sendable {
    /// Silence after which an app blocks others while APNs answers other apps.
    static let shortMilliseconds = 2_000
    /// Silence after which an app blocks others while APNs answers no app. Such a network failure ends for all apps
    /// at once.
    static let longMilliseconds = 20_000
    /// Silence after which sheets that came from a tier wait there for two minutes.
    static let veryLongMilliseconds = 30_000
    /// When the network fails, the last answers to all apps lie within this time. So an app is silent alone only if
    /// another app was answered this much later.
    private static let networkFailureSpreadMilliseconds = 1_000
    /// An answer to another app shows for this time that the network works.
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
    /// The newest time at which no other app was answered; nil if others were answered during the whole silence.
    private var unansweredUntil: Instant?
    /// Whether its sheets move to a tier if others wait behind them.
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
        hasStateToReset = true
        connectingSince = begin
        // This is not silence yet, so its start moves on with the time.
        if now.milliseconds(since: begin) < Self.longMilliseconds { startedAt = now }
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
        if !isAnotherAppAnswered(all, at: now) { unansweredUntil = now }
        // After a network failure the apps do not all get their answers at the same moment. So an app blocks others
        // only after APNs has answered other apps for a short time.
        let othersAnsweredFor = unansweredUntil.map { now.milliseconds(since: $0) } ?? Self.shortMilliseconds
        blocksOthers = othersAnsweredFor >= Self.shortMilliseconds || silence >= Self.longMilliseconds
    }

    /// Whether APNs answers another app, or another app with sheets has not waited for long. Both count only if they
    /// began clearly after this app's silence.
    private func isAnotherAppAnswered(_ all: AllApps, at now: Instant) -> Bool {
        let silence = durationMilliseconds(at: now)
        func isClearlyAfterStart(_ millisecondsAgo: Int) -> Bool {
            millisecondsAgo + Self.networkFailureSpreadMilliseconds <= silence
        }
        let shortest = all.leastMilliseconds
        let isAnotherActive = shortest < Self.shortMilliseconds && isClearlyAfterStart(shortest)
        let answerAge = all.answeredAt.map { now.milliseconds(since: $0) } ?? .max
        let wasRecentlyAnswered = answerAge < Self.answerCountsMilliseconds && isClearlyAfterStart(answerAge)
        return isAnotherActive || wasRecentlyAnswered
    }
}

extension AppSilence {
    /// The answers of APNs to all apps, with which each app is compared. They include the app itself. Its own answer
    /// does not count, because it is not later than itself by `networkFailureSpreadMilliseconds`.
    struct AllApps: Sendable {
        /// The shortest silence of an app with sheets in hand, in milliseconds.
        var leastMilliseconds = Int.max
        /// Time of the newest answer of APNs to any app.
        var answeredAt: Instant?

        /// Adds an app. An app whose first connection is still being opened has not begun its silence.
        mutating func add(_ silence: AppSilence, hasSheets: Bool, at now: Instant) {
            if let answered = silence.answeredAt { answeredAt = max(answeredAt ?? answered, answered) }
            guard hasSheets, silence.connectingSince == nil else { return }
            leastMilliseconds = min(leastMilliseconds, silence.durationMilliseconds(at: now))
        }
    }
}
