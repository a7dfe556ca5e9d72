import Lifecycle

@testable import APNs

/// One connection of a `PoolWorld`: the client's session, the frames under way, the server's side.
struct PoolLink {
    struct Stream {
        let ticket: PoolTicket
        let owner: Int
        let limits: PushLimits
        var hasLeft = false
        /// Its outcome was told: only a late answer may follow, or that none will.
        var isReported = false
        /// Its reset waits to leave; until then it holds its slot.
        var isGivenUp = false
    }

    /// A request under way to the server.
    struct Frame {
        let stream: Int
        let owner: Int
    }

    /// What the server says, until the client hears it.
    enum Word {
        case settings(Int)
        case goaway(last: Int, isCalm: Bool)
        case answer(Int, AnswerEffect)
        case refuse(Int)
        case reset(Int, isCalm: Bool)
        case pong
    }

    let number: UInt32
    var isOpen = false
    var streams: [Int: Stream] = [:]
    var toServer: [Frame] = []
    var held: [Frame] = []
    var toClient: [Word] = []
    private var nextStream = 1
    /// Streams whose requests have not left, beyond which the session takes none.
    private let unsentMax: Int
    /// One was not taken, and the pool has not been told that there is room again.
    var isFull = false
    /// The server's GOAWAY, from when it says it.
    var goawayLast = Int.max
    /// It says nothing; or it answers PING and nothing else; or nothing leaves for it.
    var isSilent = false
    var isDeaf = false
    var isClogged = false
    // As the client was told.
    var toldMax = 1
    var isGoawayTold = false
    var isAuthorised = false
    /// Requests that ended without an answer since the last answer.
    var overdues = 0
    private var window: PoolWindow

    init(_ number: UInt32, unsentMax: Int, _ settings: PoolSettings) {
        self.number = number
        self.unsentMax = unsentMax
        window = PoolWindow(settings)
    }

    var takesMore: Bool { streams.values.count { !$0.hasLeft } < unsentMax }

    /// What is wrong with sending another request now.
    func faultOfSending(_ settings: PoolSettings, at now: Instant) -> String? {
        if !isOpen { return "sent before the connection was open" }
        if isGoawayTold { return "sent after GOAWAY" }
        if streams.count >= toldMax { return "more streams than the peer allows" }
        if !isAuthorised, !streams.isEmpty { return "two streams before the first authorised answer" }
        if streams.count >= window.most(at: now) { return "more streams than a server in trouble should get" }
        if overdues >= (isAuthorised ? settings.overduesMax : 1) {
            return "sent over a connection that answers nothing"
        }
        return nil
    }

    mutating func send(_ ticket: PoolTicket, _ owner: Int, _ limits: PushLimits) {
        streams[nextStream] = Stream(ticket: ticket, owner: owner, limits: limits)
        nextStream += 2
    }

    /// The socket takes what the session has: requests, and the resets of those that were given up.
    ///
    /// - Returns: streams that closed with that, and those that should have left before.
    mutating func flush(at now: Instant) -> (closed: [Int], tooLate: [Int]) {
        guard !isClogged else { return ([], []) }
        var closed: [Int] = []
        var tooLate: [Int] = []
        for (id, stream) in streams.sorted(by: { $0.key < $1.key }) {
            if stream.isGivenUp {
                closed.append(id)
            } else if !stream.hasLeft, stream.limits.leaveBy <= now {
                tooLate.append(id)
            } else if !stream.hasLeft {
                streams[id]?.hasLeft = true
                toServer.append(Frame(stream: id, owner: stream.owner))
            }
        }
        return (closed, tooLate)
    }

    mutating func forget(_ stream: Int) { streams[stream] = nil }

    mutating func ping() { if !isSilent, !isClogged { toClient.append(.pong) } }

    /// An answer was heard.
    mutating func heardAnswer(_ effect: AnswerEffect, at now: Instant) {
        overdues = 0
        if effect == .authorises { isAuthorised = true }
        window.heard(isTrouble: effect == .serverTrouble, within: toldMax, at: now)
    }

    mutating func heardCalm(at now: Instant) { window.falls(within: toldMax, isCalm: true, at: now) }
}

/// How many streams a connection may have at most after trouble: half of what it had, and then a step
/// more in each interval without any. Looser than the pool's by what its ticks are late.
struct PoolWindow {
    private let settings: PoolSettings
    private var base: Int
    private var fellAt: Instant?
    private var risesFrom = Instant(nanoseconds: 0)
    /// Of the latest answers, how many in 65536 told of trouble.
    private var share = 0

    init(_ settings: PoolSettings) {
        self.settings = settings
        base = settings.streamsPerConnectionMax
    }

    func most(at now: Instant) -> Int {
        let step = max(1, settings.streamsPerConnectionMax / 20)
        let steps = max(0, now.milliseconds(since: risesFrom)) / settings.riseMilliseconds
        return min(settings.streamsPerConnectionMax, base + step * steps)
    }

    mutating func heard(isTrouble: Bool, within streamsMax: Int, at now: Instant) {
        share += (isTrouble ? 4_096 : 0) - share / 16
        if isTrouble, share >= 8_192 { falls(within: streamsMax, isCalm: false, at: now) }
    }

    mutating func falls(within streamsMax: Int, isCalm: Bool, at now: Instant) {
        let isOfTheSameBurst = fellAt.map { now.milliseconds(since: $0) < settings.fallMilliseconds } ?? false
        base = most(at: now)
        if !isOfTheSameBurst {
            base = max(1, min(base, streamsMax) / 2)
            fellAt = now
            share = 0
        }
        // The first step comes after the rest, so that a step of it has passed by then.
        let rest = isCalm ? settings.calmMilliseconds - settings.riseMilliseconds : 0
        risesFrom = max(risesFrom, now.advanced(byMilliseconds: rest))
    }
}
