internal import HTTPClient
internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import Members
internal import Stages
internal import Synchronization
internal import Topics

/// Hands people's questions to a process of the insight stage, which asks the others, and brings its answer back.
final class InsightRelay: Sendable {
    private let rounds: LoopOwned<RelayRounds>
    private let waiting = Atomic<Int>(0)

    init(_ environment: StageEnvironment, context: ServiceContext) throws {
        rounds = try LoopOwned(thread: "insight-relay") {
            RelayRounds(
                MembersReader(
                    environment.cluster.settings, topic: environment.layout.name(.members), on: $0.loop,
                    log: context.log, metrics: context.metrics),
                MemberLinks(on: $0.loop))
        }
    }

    func stop() { rounds.stop { $0.end() } }

    /// - Parameter then: nil when no process of the stage has answered.
    /// - Returns: false, and `then` is not called, when too many wait.
    func ask(_ call: InsightCall, then: @escaping @Sendable (HTTPAnswer?) -> Void) -> Bool {
        guard waiting.add(1, ordering: .relaxed).newValue <= GatewayLimits.questionsWaitingMax else {
            waiting.subtract(1, ordering: .relaxed)
            return false
        }
        let body = call.encoded()
        let isTaken = rounds.execute {
            $0.ask(body) { answer in
                self.waiting.subtract(1, ordering: .relaxed)
                then(answer)
            }
        }
        if !isTaken { waiting.subtract(1, ordering: .relaxed) }
        return isTaken
    }

}

/// Asks one process after the other, each time beginning with another: the first may be away, and not know it yet.
private final class RelayRounds {
    private let members: MembersReader
    private let links: MemberLinks
    private var turn = 0

    init(_ members: MembersReader, _ links: MemberLinks) {
        self.members = members
        self.links = links
        members.begin()
    }

    func end() { links.end() }

    func ask(_ body: [UInt8], then: @escaping @Sendable (HTTPAnswer?) -> Void) {
        let known = members.table.members(of: InsightCall.stage)
        turn &+= 1
        let order = known.indices.map { known[($0 + turn) % known.count] }
        let until = Instant.now().advanced(byMilliseconds: GatewayLimits.questionMilliseconds)
        ask(order.prefix(GatewayLimits.questionTriesMax), body, until: until, then: then)
    }

    private func ask(
        _ members: ArraySlice<Member>, _ body: [UInt8], until: Instant,
        then: @escaping @Sendable (HTTPAnswer?) -> Void
    ) {
        guard let member = members.first, Instant.now() < until else { return then(nil) }
        let isLast = members.count == 1
        let ownLimit = Instant.now().advanced(byMilliseconds: GatewayLimits.questionTryMilliseconds)
        links.ask(
            member, at: InsightCall.path, body, until: isLast ? until : min(until, ownLimit), isLast: isLast
        ) { [self] answer in
            // One that has forgotten its secret is another process at the same address.
            if let answer, answer.status != 401, answer.body != nil { return then(answer) }
            ask(members.dropFirst(), body, until: until, then: then)
        }
    }
}
