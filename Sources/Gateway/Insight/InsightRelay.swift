internal import HTTPClient
internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import Members
internal import Stages
internal import Synchronization
internal import Topics

/// Hands people's questions to a process of the insight stage, which asks the others, and brings its answer back.
///
/// `@unchecked Sendable`: what is not constant is touched on the loop only.
final class InsightRelay: @unchecked Sendable {
    private let loop: EventLoop
    private let members: MembersReader
    private let links: MemberLinks
    private let waiting = Atomic<Int>(0)
    private var turn = 0

    init(_ environment: StageEnvironment, context: ServiceContext) throws {
        let loop = try EventLoop(name: "insight-relay")
        members = MembersReader(
            environment.cluster.settings, topic: environment.layout.name(.members), on: loop,
            log: context.log,
            metrics: context.metrics)
        links = MemberLinks(on: loop)
        self.loop = loop
        try loop.start { self.members.begin() }
    }

    func stop() {
        _ = loop.perform { self.links.end() }
        loop.stop()
    }

    /// - Parameter then: nil when no process of the stage has answered.
    /// - Returns: false, and `then` is not called, when too many wait.
    func ask(_ call: InsightCall, then: @escaping @Sendable (HTTPAnswer?) -> Void) -> Bool {
        guard waiting.add(1, ordering: .relaxed).newValue <= GatewayLimits.questionsWaitingMax else {
            waiting.subtract(1, ordering: .relaxed)
            return false
        }
        let body = call.encoded()
        let isTaken = loop.execute {
            self.ask(body) { answer in
                self.waiting.subtract(1, ordering: .relaxed)
                then(answer)
            }
        }
        if !isTaken { waiting.subtract(1, ordering: .relaxed) }
        return isTaken
    }

    // MARK: On the loop

    /// One process after the other, each time beginning with another: the first may be away, and not know it yet.
    private func ask(_ body: [UInt8], then: @escaping @Sendable (HTTPAnswer?) -> Void) {
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
