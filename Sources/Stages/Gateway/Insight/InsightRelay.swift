internal import HTTPClient
internal import Kafka
internal import Lifecycle
internal import Members
internal import RecordFormat
internal import StageSupport
internal import Synchronization
internal import Topics

/// The thread that passes queries to a process of the insight stage. Any process of the stage will do: it asks the
/// others and merges the answers.
final class InsightRelay: Sendable {
    private let attempts: LoopOwned<RelayAttempts>
    /// The queries without an answer.
    private let waiting = Atomic<Int>(0)

    init(in environment: StageEnvironment, context: ServiceContext) throws {
        attempts = try LoopOwned(thread: "insight-relay") {
            RelayAttempts(
                members: MembersReader(
                    settings: environment.cluster.settings, topic: environment.layout.name(of: .members),
                    on: $0.loop, log: context.log, metrics: context.metrics),
                memberClient: MemberClient(on: $0.loop))
        }
    }

    func stop() { attempts.stop { $0.close() } }

    /// Sends a query to the insight stage.
    ///
    /// - Parameter then: Receives the answer, or nil if no process of the stage answered. It runs on the relay's
    ///   thread.
    /// - Returns: False if too many queries wait. Then `then` is not called.
    func ask(_ query: InsightQuery, then: @escaping @Sendable (HTTPClientResponse?) -> Void) -> Bool {
        guard waiting.add(1, ordering: .relaxed).newValue <= GatewayLimits.queriesWaitingMax else {
            waiting.subtract(1, ordering: .relaxed)
            return false
        }
        let body = query.encoded()
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

extension InsightRelay {
    /// Asks for the send behind a tap (`TapAttribution.FindOrigin`).
    func findTapOrigin(
        app: String, tap: ValidatedReports.Tap, then: @escaping @Sendable (TapOrigin?) -> Void
    ) -> Bool {
        guard let installation = tap.installation, let activity = tap.activity else { return false }
        var parameters = [InsightQuery.Parameter(name: "activity", value: activity)]
        if let group = tap.group { parameters.append(InsightQuery.Parameter(name: "group", value: group)) }
        return ask(InsightQuery(.tapOrigin, app: app, id: installation, parameters: parameters)) { answer in
            guard let answer, answer.status == 200, let body = answer.body else { return then(nil) }
            then(TapOrigin(answer: body))
        }
    }
}

/// The attempts of the relay's queries. A query asks one process after the other until one answers. Each query begins
/// with another process, because a process may be dead and still listed. Confined to the relay's loop.
private final class RelayAttempts {
    private static let unauthorizedStatus = 401

    /// The reader of the topic `members`, in which each process of a stage lists its address.
    private let members: MembersReader
    private let memberClient: MemberClient
    private var queryCount = 0

    init(members: MembersReader, memberClient: MemberClient) {
        self.members = members
        self.memberClient = memberClient
        members.start()
    }

    func close() { memberClient.end() }

    /// Asks up to `GatewayLimits.queryAttemptsMax` processes. `then` receives nil if none of them answers.
    func ask(body: [UInt8], then: @escaping @Sendable (HTTPClientResponse?) -> Void) {
        let members = members.table.members(of: InsightQuery.stage)
        queryCount &+= 1
        let candidates = members.indices.map { members[($0 + queryCount) % members.count] }
        let deadline = Instant.now().advanced(byMilliseconds: GatewayLimits.queryMilliseconds)
        ask(candidates.prefix(GatewayLimits.queryAttemptsMax), body: body, until: deadline, then: then)
    }

    /// Asks the first of the members, and the others after it if it does not answer.
    private func ask(
        _ members: ArraySlice<Member>, body: [UInt8], until deadline: Instant,
        then: @escaping @Sendable (HTTPClientResponse?) -> Void
    ) {
        guard let member = members.first, Instant.now() < deadline else { return then(nil) }
        let isLast = members.count == 1
        let attemptEnd = Instant.now().advanced(byMilliseconds: GatewayLimits.queryAttemptMilliseconds)
        memberClient.ask(
            member, at: InsightQuery.path, body: body,
            until: isLast ? deadline : min(deadline, attemptEnd), isLast: isLast
        ) { [self] answer in
            // 401 comes from a new process at the old address. It does not know the old process's secret.
            let isAnswered = answer?.body != nil && answer?.status != Self.unauthorizedStatus
            if isAnswered { return then(answer) }
            ask(members.dropFirst(), body: body, until: deadline, then: then)
        }
    }
}
