internal import HTTPClient
internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import Members
internal import StageSupport
internal import Synchronization
internal import Topics

/// A relay of queries to a process of the insight stage. That process asks the other processes and merges the
/// answers.
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

    /// Sends a query to the insight stage.
    ///
    /// - Parameter then: Receives the answer, or nil if no process of the stage answered.
    /// - Returns: False if too many queries wait. Then `then` is not called.
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

/// Queries to one process after the other. Each query starts with another process, because the first one may
/// be dead and still listed.
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
            // A 401 comes from a new process at the old address: it does not know the old process's secret.
            if let answer, answer.status != 401, answer.body != nil { return then(answer) }
            ask(members.dropFirst(), body, until: until, then: then)
        }
    }
}
