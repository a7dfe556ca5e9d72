import Lifecycle

@testable import APNs

/// One connection of a `PoolWorld`: the client's session, the frames in transit, and the server.
struct PoolLink {
    /// A request on this connection, as the client's session knows it. Streams have odd numbers, as in HTTP/2.
    struct Stream {
        let ticket: PoolTicket
        let request: Int
        let deadlines: PushDeadlines
        /// Whether its bytes were sent.
        var isSent = false
        /// Whether its outcome was reported. After that, only a late answer or its absence is reported.
        var isReported = false
        /// Whether the request was given up and its reset is not sent yet. Until then it holds its stream.
        var isGivenUp = false
    }

    /// A request in transit to the server.
    struct Frame {
        let stream: Int
        let request: Int
    }

    /// A message of the server that the client has not read yet.
    enum ServerMessage {
        case settings(Int)
        case goaway(last: Int, isEnhanceYourCalm: Bool)
        case answer(Int, ResponseEffect)
        case refuse(Int)
        case reset(Int, isEnhanceYourCalm: Bool)
        case pong
    }

    let number: UInt32
    var isOpen = false
    var streams: [Int: Stream] = [:]
    /// Requests that the server has not read.
    var toServer: [Frame] = []
    /// Requests that the server has accepted and answers later.
    var unanswered: [Frame] = []
    var toClient: [ServerMessage] = []
    private var nextStream = 1
    /// Number of unsent requests at which the session takes no more.
    private let unsentMax: Int
    /// Whether the session has refused a request, and the pool does not know yet that the session can take more.
    var isFull = false
    /// Last stream of the server's GOAWAY, from the moment when the server sends it.
    var goawayLast = Int.max
    // The faults of the connection.
    /// The server sends nothing, not even PONG.
    var isSilent = false
    /// The server answers only PING.
    var isDeaf = false
    /// The client's bytes do not leave.
    var isClogged = false
    // The state that the client knows by the messages that it has read.
    var knownStreamsMax = 1
    var hasReadGoaway = false
    /// Whether an answer has shown that the server accepts the provider token on this connection.
    var isAuthorized = false
    /// Number of requests that ended without an answer since the last answer.
    var overdues = 0
    private var window: PoolWindow

    init(number: UInt32, unsentMax: Int, settings: PoolSettings) {
        self.number = number
        self.unsentMax = unsentMax
        window = PoolWindow(settings: settings)
    }

    /// Whether the session takes one more request.
    var takesMore: Bool { streams.values.count { !$0.isSent } < unsentMax }

    /// Returns the rule that another request would break now, or nil.
    func ruleBrokenBySending(with settings: PoolSettings, at now: Instant) -> String? {
        if !isOpen { return "sent before the connection was open" }
        if hasReadGoaway { return "sent after GOAWAY" }
        if streams.count >= knownStreamsMax { return "more streams than the peer allows" }
        if !isAuthorized, !streams.isEmpty { return "two streams before the first authorized answer" }
        if streams.count >= window.streamsMax(at: now) {
            return "more streams than a server in trouble should get"
        }
        if overdues >= (isAuthorized ? settings.consecutiveOverduesMax : 1) {
            return "sent over a connection that answers nothing"
        }
        return nil
    }

    /// Opens a stream for a request. Its bytes leave with `flush`.
    mutating func send(_ ticket: PoolTicket, request: Int, deadlines: PushDeadlines) {
        streams[nextStream] = Stream(ticket: ticket, request: request, deadlines: deadlines)
        nextStream += 2
    }

    /// Sends the session's data: requests, and the resets of requests that were given up.
    ///
    /// - Returns: the streams that this closed, and the streams whose `sendBy` has passed.
    mutating func flush(at now: Instant) -> (closed: [Int], tooLate: [Int]) {
        guard !isClogged else { return ([], []) }
        var closed: [Int] = []
        var tooLate: [Int] = []
        for (id, stream) in streams.sorted(by: { $0.key < $1.key }) {
            if stream.isGivenUp {
                closed.append(id)
            } else if !stream.isSent, stream.deadlines.sendBy <= now {
                tooLate.append(id)
            } else if !stream.isSent {
                streams[id]?.isSent = true
                toServer.append(Frame(stream: id, request: stream.request))
            }
        }
        return (closed, tooLate)
    }

    /// Removes a stream that was closed.
    mutating func forget(_ stream: Int) { streams[stream] = nil }

    /// Sends PING, which a server answers unless it is silent.
    mutating func ping() { if !isSilent, !isClogged { toClient.append(.pong) } }

    /// Handles an answer that the client read.
    mutating func noteAnswer(_ effect: ResponseEffect, at now: Instant) {
        overdues = 0
        if effect == .authorizes { isAuthorized = true }
        window.noteAnswer(isTrouble: effect == .serverTrouble, within: knownStreamsMax, at: now)
    }

    /// Handles a reset with ENHANCE_YOUR_CALM that the client read.
    mutating func noteEnhanceYourCalm(at now: Instant) {
        window.narrow(within: knownStreamsMax, isEnhanceYourCalm: true, at: now)
    }
}

/// The largest number of streams that a pool may use after trouble: half of the previous number, and one step more
/// after each interval without trouble. It is a second implementation, and looser than the pool's own, because the
/// pool's ticks may come late.
struct PoolWindow {
    private let settings: PoolSettings
    private var base: Int
    private var narrowedAt: Instant?
    private var widensFrom = Instant(nanoseconds: 0)
    /// The share of recent answers that reported trouble, in 1/65536. Each answer weighs a sixteenth.
    private var troubleShare = 0
    /// An eighth: the window is halved from this share on.
    private static let troubleShareMax = 8_192
    /// A sixteenth.
    private static let shareOfOneAnswer = 4_096

    init(settings: PoolSettings) {
        self.settings = settings
        base = settings.streamsPerConnectionMax
    }

    func streamsMax(at now: Instant) -> Int {
        let step = max(1, settings.streamsPerConnectionMax / 20)
        let steps = max(0, now.milliseconds(since: widensFrom)) / settings.widenIntervalMilliseconds
        return min(settings.streamsPerConnectionMax, base + step * steps)
    }

    mutating func noteAnswer(isTrouble: Bool, within streamsMax: Int, at now: Instant) {
        troubleShare += (isTrouble ? Self.shareOfOneAnswer : 0) - troubleShare / 16
        if isTrouble, troubleShare >= Self.troubleShareMax {
            narrow(within: streamsMax, isEnhanceYourCalm: false, at: now)
        }
    }

    mutating func narrow(within streamsMax: Int, isEnhanceYourCalm: Bool, at now: Instant) {
        let isOfSameBurst =
            narrowedAt.map { now.milliseconds(since: $0) < settings.narrowIntervalMilliseconds } ?? false
        base = self.streamsMax(at: now)
        if !isOfSameBurst {
            base = max(1, min(base, streamsMax) / 2)
            narrowedAt = now
            troubleShare = 0
        }
        // The first step comes only after the pause.
        let pause =
            isEnhanceYourCalm
            ? settings.enhanceYourCalmMilliseconds - settings.widenIntervalMilliseconds : 0
        widensFrom = max(widensFrom, now.advanced(byMilliseconds: pause))
    }
}
