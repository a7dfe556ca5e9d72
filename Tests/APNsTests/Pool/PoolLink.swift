import Lifecycle

@testable import APNs

/// One connection of a `PoolWorld`: the client's session, the frames under way, the server's side.
struct PoolLink {
    struct Stream {
        let ticket: PoolTicket
        let owner: Int
        let deadline: Instant
        var hasLeft = false
        var isReported = false
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
    var isSilent = false
    // As the client was told.
    var toldMax = 1
    var isGoawayTold = false
    var isAuthorised = false

    init(_ number: UInt32, unsentMax: Int) {
        self.number = number
        self.unsentMax = unsentMax
    }

    var takesMore: Bool { streams.values.count { !$0.hasLeft } < unsentMax }

    /// What is wrong with sending another request now.
    func faultOfSending(_ mutant: PoolMutant?) -> String? {
        if !isOpen { return "sent before the connection was open" }
        if isGoawayTold { return "sent after GOAWAY" }
        if streams.count >= toldMax { return "more streams than the peer allows" }
        if !isAuthorised, !streams.isEmpty { return "two streams before the first authorised answer" }
        return nil
    }

    mutating func send(_ ticket: PoolTicket, _ owner: Int, _ deadline: Instant) {
        streams[nextStream] = Stream(ticket: ticket, owner: owner, deadline: deadline)
        nextStream += 2
    }

    /// The socket takes what the session has.
    mutating func flush() {
        for id in streams.keys.sorted() where streams[id]?.hasLeft == false {
            guard let owner = streams[id]?.owner else { continue }
            streams[id]?.hasLeft = true
            toServer.append(Frame(stream: id, owner: owner))
        }
    }

    mutating func forget(_ stream: Int) { streams[stream] = nil }

    mutating func ping() { if !isSilent { toClient.append(.pong) } }
}
