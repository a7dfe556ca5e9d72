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
    /// Our own limit, lowered by ENHANCE_YOUR_CALM.
    var windowMax: Int
    var calmedAt: Instant?
    /// An answer has shown that the provider token is accepted here.
    var isAuthorised = false
    /// The session underneath did not take a request; until something happens there.
    var isBlocked = false
    /// Old or used up: to be replaced, but used until the replacement works.
    var isStale = false
    var replacement: UInt32 = 0
    /// Streams whose requests have not ended, and streams that are overdue.
    var live = 0
    var late = 0
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

    var streams: Int { live + late }

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

    mutating func halveWindow(_ settings: PoolSettings, at now: Instant) {
        windowMax = max(1, min(windowMax, streamsMax) / 2)
        calmedAt = now
    }

    mutating func widen(_ settings: PoolSettings, at now: Instant) {
        guard let calmed = calmedAt, now.milliseconds(since: calmed) >= settings.calmMilliseconds else {
            return
        }
        windowMax = min(settings.streamsPerConnectionMax, windowMax * 2)
        calmedAt = windowMax == settings.streamsPerConnectionMax ? nil : now
    }
}
