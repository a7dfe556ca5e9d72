internal import Lifecycle

/// The state of one connection, as its pool sees it.
struct PoolConnection {
    enum Phase {
        case connecting
        case open
        /// Takes no more requests. Its open requests continue to their end.
        case retiring
        /// The caller was asked to close it. `closed` follows.
        case closing
    }

    /// Number of the connection, unique within the pool and counted from 1.
    let number: UInt32
    var phase = Phase.connecting
    /// Number of streams that the peer allows. It is 1 until the peer's SETTINGS arrive.
    var streamsMax = 1
    /// This side's own limit on streams. It is halved when the server has trouble, and rises in steps.
    var windowMax: Int
    private var narrowedAt: Instant?
    private var widensAt: Instant?
    /// Share of recent answers that reported trouble, in 1/65536.
    private var serverErrorShare = 0
    /// Whether an answer has shown that APNs accepts the provider token on this connection.
    var isAuthorized = false
    /// Whether the session did not take a request. Reset by the next event of the connection.
    var isBlocked = false
    /// Whether the connection is old or used up. It is still used until its replacement works.
    var isStale = false
    var replacement: UInt32 = 0
    /// Streams with a request that has not ended, streams with an overdue request, and streams with a request
    /// that was given up. The last kind ends when its reset is sent. Together they are the streams that the
    /// session counts.
    var liveStreams = 0
    var overdueStreams = 0
    var abandonedStreams = 0
    /// Number of requests that ended without an answer since the peer's last answer.
    var consecutiveOverdues = 0
    var requestsLeft: Int
    var readAt: Instant
    var pingedAt: Instant?
    var recycleAt = Instant.distantFuture
    var retiredAt = Instant.distantFuture

    init(number: UInt32, settings: PoolSettings, at now: Instant) {
        self.number = number
        windowMax = settings.streamsPerConnectionMax
        requestsLeft = settings.requestsPerConnectionMax
        readAt = now
    }

    var streams: Int { liveStreams + overdueStreams + abandonedStreams }

    /// Number of streams allowed: one until the peer has accepted the provider token, then the lower of both
    /// limits.
    var allowedStreams: Int { isAuthorized ? min(streamsMax, windowMax) : min(streamsMax, 1) }

    var freeStreams: Int {
        guard phase == .open, !isBlocked else { return 0 }
        return min(allowedStreams - streams, requestsLeft)
    }

    func isStalled(settings: PoolSettings, at now: Instant) -> Bool {
        streams > 0 && now.milliseconds(since: readAt) >= settings.stallMilliseconds
    }

    /// Whether the connection will probably have a free stream soon.
    func isBecomingAvailable(settings: PoolSettings, at now: Instant) -> Bool {
        phase == .connecting
            || phase == .open && !isAuthorized && streamsMax > 0 && !isStalled(settings: settings, at: now)
    }

    /// Whether the connection answers no requests, even if its peer answers PINGs. All requests that it may
    /// carry are overdue.
    func isUnresponsive(settings: PoolSettings) -> Bool {
        consecutiveOverdues >= min(settings.consecutiveOverduesMax, max(1, allowedStreams))
    }

    /// Counts an answer. The average covers about the last 16 answers.
    mutating func recordAnswer(isServerError: Bool, settings: PoolSettings, at now: Instant) {
        if serverErrorShare > 0 { serverErrorShare -= serverErrorShare / 16 }
        guard isServerError else { return }
        serverErrorShare += 65_536 / 16
        // The limit is one in eight, which three in a row reach. A few errors among thousands of answers must
        // not slow the connection.
        if serverErrorShare >= 65_536 / 8 {
            narrowWindow(settings: settings, restMilliseconds: settings.widenIntervalMilliseconds, at: now)
        } else if let rises = widensAt {
            widensAt = max(rises, now.advanced(byMilliseconds: settings.widenIntervalMilliseconds))
        }
    }

    /// Handles ENHANCE_YOUR_CALM.
    mutating func handleEnhanceYourCalm(settings: PoolSettings, at now: Instant) {
        narrowWindow(settings: settings, restMilliseconds: settings.enhanceYourCalmMilliseconds, at: now)
    }

    /// Halves the window. Trouble that comes in a burst halves it only once.
    private mutating func narrowWindow(settings: PoolSettings, restMilliseconds: Int, at now: Instant) {
        widensAt = max(widensAt ?? now, now.advanced(byMilliseconds: restMilliseconds))
        if let narrowedAt, now.milliseconds(since: narrowedAt) < settings.narrowIntervalMilliseconds {
            return
        }
        narrowedAt = now
        serverErrorShare = 0
        windowMax = max(1, min(windowMax, streamsMax) / 2)
    }

    mutating func widenWindow(settings: PoolSettings, at now: Instant) {
        guard let due = widensAt, now >= due else { return }
        let step = max(1, settings.streamsPerConnectionMax / 20)
        windowMax = min(settings.streamsPerConnectionMax, windowMax + step)
        widensAt =
            windowMax == settings.streamsPerConnectionMax
            ? nil : now.advanced(byMilliseconds: settings.widenIntervalMilliseconds)
    }
}
