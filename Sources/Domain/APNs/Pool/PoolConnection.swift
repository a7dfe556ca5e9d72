internal import Lifecycle

/// The state of one connection in a `PoolStateMachine`: its phase, its streams, and how many streams it may
/// have. All times and limits come from the state machine.
struct PoolConnection {
    enum Phase {
        case connecting
        case open
        /// Takes no more requests. Its open requests continue to their end.
        case retiring
        /// The caller was asked to close it. `PoolStateMachine.handleClose` follows.
        case closing
    }

    /// Number of the connection, unique within the pool and counted from 1.
    let number: UInt32
    var phase = Phase.connecting
    /// Whether an answer has shown that APNs accepts the provider token on this connection.
    var isAuthorized = false
    /// Whether the session did not take a request. Reset by the next event of the connection.
    var isBlocked = false

    // Limits on the streams.

    /// Number of streams that the peer allows. It is 1 until the peer's SETTINGS arrive.
    var streamsMax = 1
    /// This side's own limit on streams, the window. It is halved when the server has trouble, and rises in
    /// steps.
    var windowMax: Int
    /// Time at which the window was last halved.
    private var narrowedAt: Instant?
    /// Time of the next step. Nil at full width.
    private var widensAt: Instant?
    /// Share of recent answers that reported trouble, in parts of `fullShare`. A moving average over about
    /// `averagedAnswers` answers.
    private var serverErrorShare = 0
    private static let fullShare = 65_536
    private static let averagedAnswers = 16
    /// Share at which the window is halved: one in eight, which three errors in a row reach. A few errors among
    /// thousands of answers must not slow the connection.
    private static let serverErrorShareMax = fullShare / 8
    /// Number of steps from no window to the full window.
    private static let stepsToFullWidth = 20

    // Streams. Together they are the streams that the session counts.

    /// Streams with a request that has not ended.
    var liveStreams = 0
    /// Streams with a request that ended without an answer. The answer may still arrive.
    var overdueStreams = 0
    /// Streams with a request that was withdrawn, or not fully sent in time. They end when their reset is
    /// sent.
    var abandonedStreams = 0
    /// Number of requests that ended without an answer since the peer's last answer.
    var consecutiveOverdues = 0

    // Age and replacement.

    /// Number of requests that the connection may still carry.
    var requestsLeft: Int
    /// Time at which the connection becomes stale.
    var recycleAt = Instant.distantFuture
    /// Whether the connection is old or used up. It is still used until its replacement works.
    var isStale = false
    /// Number of the connection that replaces this one, or 0.
    var replacementNumber: UInt32 = 0
    var retiredAt = Instant.distantFuture

    // Liveness.

    /// Time at which bytes were last received.
    var lastReadAt: Instant
    /// Time of a PING without an answer.
    var pingedAt: Instant?

    init(number: UInt32, settings: PoolSettings, at now: Instant) {
        self.number = number
        windowMax = settings.streamsPerConnectionMax
        requestsLeft = settings.requestsPerConnectionMax
        lastReadAt = now
    }

    var streams: Int { liveStreams + overdueStreams + abandonedStreams }

    /// Number of streams allowed: one until the peer has accepted the provider token, then the lower of both
    /// limits.
    var allowedStreams: Int { isAuthorized ? min(streamsMax, windowMax) : min(streamsMax, 1) }

    /// Number of further streams that may be opened now. Negative if the limit was lowered below the open ones.
    var freeStreams: Int {
        guard phase == .open, !isBlocked else { return 0 }
        return min(allowedStreams - streams, requestsLeft)
    }

    /// Whether streams are open, but nothing was received for a while.
    func isStalled(settings: PoolSettings, at now: Instant) -> Bool {
        streams > 0 && now.milliseconds(since: lastReadAt) >= settings.stallMilliseconds
    }

    /// Whether the connection will probably have a free stream soon.
    func isBecomingAvailable(settings: PoolSettings, at now: Instant) -> Bool {
        if phase == .connecting { return true }
        // The answer to its first request will authorize it for more streams.
        let isUnauthorized = phase == .open && !isAuthorized
        return isUnauthorized && streamsMax > 0 && !isStalled(settings: settings, at: now)
    }

    /// Whether the connection answers no requests, even if its peer answers PINGs. All requests that it may
    /// carry are overdue.
    func isUnresponsive(settings: PoolSettings) -> Bool {
        let carriedMax = max(1, allowedStreams)
        return consecutiveOverdues >= min(settings.consecutiveOverduesMax, carriedMax)
    }

    // MARK: The window

    /// Counts an answer. Halves the window if too many recent answers reported trouble.
    mutating func recordAnswer(isServerError: Bool, settings: PoolSettings, at now: Instant) {
        if serverErrorShare > 0 { serverErrorShare -= serverErrorShare / Self.averagedAnswers }
        guard isServerError else { return }
        serverErrorShare += Self.fullShare / Self.averagedAnswers
        if serverErrorShare >= Self.serverErrorShareMax {
            narrowWindow(settings: settings, pauseMilliseconds: settings.widenIntervalMilliseconds, at: now)
        } else if let nextStepAt = widensAt {
            // A single error only delays the next step.
            widensAt = max(nextStepAt, now.advanced(byMilliseconds: settings.widenIntervalMilliseconds))
        }
    }

    /// Handles ENHANCE_YOUR_CALM.
    mutating func handleEnhanceYourCalm(settings: PoolSettings, at now: Instant) {
        narrowWindow(settings: settings, pauseMilliseconds: settings.enhanceYourCalmMilliseconds, at: now)
    }

    /// Halves the window. Trouble that comes in a burst halves it only once.
    ///
    /// - Parameter pauseMilliseconds: time before the window grows again.
    private mutating func narrowWindow(settings: PoolSettings, pauseMilliseconds: Int, at now: Instant) {
        widensAt = max(widensAt ?? now, now.advanced(byMilliseconds: pauseMilliseconds))
        if let narrowedAt, now.milliseconds(since: narrowedAt) < settings.narrowIntervalMilliseconds {
            return
        }
        narrowedAt = now
        serverErrorShare = 0
        let widthMax = min(windowMax, streamsMax)
        windowMax = max(1, widthMax / 2)
    }

    /// Widens the window by a twentieth of its full width, if it is time.
    mutating func widenWindow(settings: PoolSettings, at now: Instant) {
        guard let nextStepAt = widensAt, now >= nextStepAt else { return }
        let step = max(1, settings.streamsPerConnectionMax / Self.stepsToFullWidth)
        windowMax = min(settings.streamsPerConnectionMax, windowMax + step)
        widensAt =
            windowMax == settings.streamsPerConnectionMax
            ? nil : now.advanced(byMilliseconds: settings.widenIntervalMilliseconds)
    }
}
