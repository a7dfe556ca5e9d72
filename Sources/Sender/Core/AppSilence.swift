internal import Lifecycle

/// The time that an app has waited for APNs, and whether its sheets are in the way of other apps.
struct AppSilence: Sendable {
    /// An app waits this long before its sheets make room, while APNs answers other apps.
    static let shortMilliseconds = 2_000
    /// An app waits this long while APNs answers no app: a cut of the network ends for all of them.
    static let longMilliseconds = 20_000
    /// After this time the sheets of an app make room for two minutes at once.
    static let veryLongMilliseconds = 30_000
    /// In a cut of the network the last answers of the apps differ by less.
    private static let marginMilliseconds = 1_000

    /// The silence of the other apps.
    struct Others: Sendable {
        /// The shortest silence of an app with sheets in hand, in milliseconds.
        var leastMilliseconds = Int.max
        /// APNs answered an app last at this time.
        var heardAt: Instant?

        mutating func add(_ silence: AppSilence, hasSheets: Bool, at now: Instant) {
            if let heard = silence.heardAt { heardAt = max(heardAt ?? heard, heard) }
            guard hasSheets, silence.connectingSince == nil else { return }
            leastMilliseconds = min(leastMilliseconds, silence.milliseconds(at: now))
        }
    }

    /// Pushes are out, or cannot leave, and APNs has not answered since this time; nil if nothing waits.
    private(set) var since: Instant?
    private var heardAt: Instant?
    /// Something of the following is known.
    private var isNoted = false
    private var connectingSince: Instant?
    /// APNs answered no other app until then.
    private var unansweredUntil: Instant?
    /// Its sheets go to a tier if others wait behind them.
    private(set) var isInTheWay = false

    /// Something waits for APNs.
    mutating func begin(at now: Instant) {
        if since == nil { since = now }
    }

    /// APNs has answered.
    mutating func heard(at now: Instant, isMoreOut: Bool) {
        since = isMoreOut ? now : nil
        heardAt = now
        // Every push comes by here, and nearly always nothing else was noted.
        if isNoted { forget() }
    }

    /// Nothing waits any more.
    mutating func end() {
        since = nil
        forget()
    }

    private mutating func forget() {
        isNoted = false
        connectingSince = nil
        unansweredUntil = nil
        isInTheWay = false
    }

    /// The first connection is being opened, or waits for its turn. Silence begins when it exists or has failed.
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

    /// Decides whether the app is in the way.
    mutating func judge(beside others: Others, at now: Instant) {
        let silence = milliseconds(at: now)
        guard silence >= Self.shortMilliseconds else {
            isInTheWay = false
            return
        }
        isNoted = true
        if !isAnswered(others, at: now) { unansweredUntil = now }
        // When APNs answers again, not all apps hear of it in the same moment.
        let grace = unansweredUntil.map { now.milliseconds(since: $0) } ?? Self.shortMilliseconds
        isInTheWay = grace >= Self.shortMilliseconds || silence >= Self.longMilliseconds
    }

    /// APNs answers another app, or nothing of the other app has left yet.
    private func isAnswered(_ others: Others, at now: Instant) -> Bool {
        let silence = milliseconds(at: now)
        if others.leastMilliseconds < Self.shortMilliseconds,
            others.leastMilliseconds + Self.marginMilliseconds <= silence
        {
            return true
        }
        guard let heardAt = others.heardAt else { return false }
        let ago = now.milliseconds(since: heardAt)
        return ago < 2 * Self.shortMilliseconds && ago + Self.marginMilliseconds <= silence
    }
}
