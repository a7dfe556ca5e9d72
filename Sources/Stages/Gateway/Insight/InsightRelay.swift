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
    private let attempts: LoopOwned<RelayAttempts>
    private let waiting = Atomic<Int>(0)

    init(in environment: StageEnvironment, context: ServiceContext) throws {
        attempts = try LoopOwned(thread: "insight-relay") {
            RelayAttempts(
                members: MembersReader(
                    settings: environment.cluster.settings, topic: environment.layout.name(of: .members),
                    on: $0.loop,
                    log: context.log, metrics: context.metrics),
                links: MemberClient(on: $0.loop))
        }
    }

    func stop() { attempts.stop { $0.close() } }

    /// Sends a query to the insight stage.
    ///
    /// - Parameter then: Receives the answer, or nil if no process of the stage answered.
    /// - Returns: False if too many queries wait. Then `then` is not called.
    func ask(_ call: InsightQuery, then: @escaping @Sendable (HTTPClientResponse?) -> Void) -> Bool {
        guard waiting.add(1, ordering: .relaxed).newValue <= GatewayLimits.queriesWaitingMax else {
            waiting.subtract(1, ordering: .relaxed)
            return false
        }
        let body = call.encoded()
        let isTaken = attempts.execute {
            $0.ask(body: body) { answer in
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
private final class RelayAttempts {
    private let members: MembersReader
    private let memberClient: MemberClient
    private var firstMember = 0

    init(members: MembersReader, links: MemberClient) {
        self.members = members
        self.memberClient = links
        members.start()
    }

    func close() { memberClient.end() }

    func ask(body: [UInt8], then: @escaping @Sendable (HTTPClientResponse?) -> Void) {
        let known = members.table.members(of: InsightQuery.stage)
        firstMember &+= 1
        let order = known.indices.map { known[($0 + firstMember) % known.count] }
        let until = Instant.now().advanced(byMilliseconds: GatewayLimits.queryMilliseconds)
        ask(order.prefix(GatewayLimits.queryAttemptsMax), body: body, until: until, then: then)
    }

    private func ask(
        _ members: ArraySlice<Member>, body: [UInt8], until: Instant,
        then: @escaping @Sendable (HTTPClientResponse?) -> Void
    ) {
        guard let member = members.first, Instant.now() < until else { return then(nil) }
        let isLast = members.count == 1
        let ownLimit = Instant.now().advanced(byMilliseconds: GatewayLimits.queryAttemptMilliseconds)
        memberClient.ask(
            member, at: InsightQuery.path, body: body, until: isLast ? until : min(until, ownLimit),
            isLast: isLast
        ) { [self] answer in
            // A 401 comes from a new process at the old address: it does not know the old process's secret.
            if let answer, answer.status != 401, answer.body != nil { return then(answer) }
            ask(members.dropFirst(), body: body, until: until, then: then)
        }
    }
}
