internal import Lifecycle

/// What a pool knows of one of its connections.
struct PoolConnection {
    enum Phase {
        case connecting
        case open
        /// Takes no more requests: its open ones go on to their end.
        case retiring
        /// The shell was told to close it; `closed` follows.
        case closing
    }

    /// Unique in the life of the pool, from 1.
    let number: UInt32
    var phase = Phase.connecting
    /// What the peer allows; until it has said so, one.
    var streamsMax = 1
    /// Our own limit: it falls by half when the server has trouble, and rises in steps.
    var windowMax: Int
    private var fellAt: Instant?
    private var risesAt: Instant?
    /// The share of the latest answers that told of trouble, in 65536ths.
    private var troubleShare = 0
    /// An answer has shown that the provider token is accepted here.
    var isAuthorised = false
    /// The session underneath did not take a request; until something happens there.
    var isBlocked = false
    /// Old or used up: to be replaced, but used until the replacement works.
    var isStale = false
    var replacement: UInt32 = 0
    /// Streams whose requests have not ended, streams that are overdue, and streams of requests that were
    /// given up, whose reset has not left yet. Together they are what the session counts.
    var live = 0
    var late = 0
    var givenUp = 0
    /// Requests that ended without an answer since the peer last answered one.
    var overdues = 0
    var requestsLeft: Int
    var readAt: Instant
    var pingedAt: Instant?
    var recycleAt = Instant.distantFuture
    var retiredAt = Instant.distantFuture

    init(number: UInt32, _ settings: PoolSettings, at now: Instant) {
        self.number = number
        windowMax = settings.streamsPerConnectionMax
        requestsLeft = settings.requestsPerConnectionMax
        readAt = now
    }

    var streams: Int { live + late + givenUp }

    /// One stream until the peer has accepted the provider token, then as many as it allows.
    var allowed: Int { isAuthorised ? min(streamsMax, windowMax) : min(streamsMax, 1) }

    var room: Int {
        guard phase == .open, !isBlocked else { return 0 }
        return min(allowed - streams, requestsLeft)
    }

    func isStalled(_ settings: PoolSettings, at now: Instant) -> Bool {
        streams > 0 && now.milliseconds(since: readAt) >= settings.stallMilliseconds
    }

    /// It may be expected to give room soon.
    func isComing(_ settings: PoolSettings, at now: Instant) -> Bool {
        phase == .connecting
            || phase == .open && !isAuthorised && streamsMax > 0 && !isStalled(settings, at: now)
    }

    /// It answers no request, though its peer may be there: every request that it may have is overdue.
    func isDeaf(_ settings: PoolSettings) -> Bool { overdues >= min(settings.overduesMax, max(1, allowed)) }

    /// An answer came: about the last sixteen count.
    mutating func answered(isTrouble: Bool, _ settings: PoolSettings, at now: Instant) {
        if troubleShare > 0 { troubleShare -= troubleShare / 16 }
        guard isTrouble else { return }
        troubleShare += 65_536 / 16
        // One in eight, which three in a row are: a few among thousands are no reason to go slow.
        if troubleShare >= 65_536 / 8 {
            narrow(settings, restMilliseconds: settings.riseMilliseconds, at: now)
        } else if let rises = risesAt {
            risesAt = max(rises, now.advanced(byMilliseconds: settings.riseMilliseconds))
        }
    }

    /// ENHANCE_YOUR_CALM.
    mutating func calm(_ settings: PoolSettings, at now: Instant) {
        narrow(settings, restMilliseconds: settings.calmMilliseconds, at: now)
    }

    /// Halves the window, once for trouble that comes in a burst.
    private mutating func narrow(_ settings: PoolSettings, restMilliseconds: Int, at now: Instant) {
        risesAt = max(risesAt ?? now, now.advanced(byMilliseconds: restMilliseconds))
        if let fellAt, now.milliseconds(since: fellAt) < settings.fallMilliseconds { return }
        fellAt = now
        troubleShare = 0
        windowMax = max(1, min(windowMax, streamsMax) / 2)
    }

    mutating func widen(_ settings: PoolSettings, at now: Instant) {
        guard let due = risesAt, now >= due else { return }
        let step = max(1, settings.streamsPerConnectionMax / 20)
        windowMax = min(settings.streamsPerConnectionMax, windowMax + step)
        risesAt =
            windowMax == settings.streamsPerConnectionMax
            ? nil : now.advanced(byMilliseconds: settings.riseMilliseconds)
    }
}
