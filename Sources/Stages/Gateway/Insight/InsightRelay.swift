package import HTTPClient
package import Kafka
package import Lifecycle
package import Members
internal import RecordFormat
package import Topics

/// The thread that passes queries to a process of the insight stage. Any process of the stage will do: it asks the
/// others and merges the answers.
package final class InsightRelay: Sendable {
    private let attempts: LoopOwned<RelayAttempts>
    /// The queries without an answer, by the key that asks.
    private let waiting = TracedLock(WaitingQueries())

    /// The result of `ask`.
    package enum Admission: Sendable {
        case asked
        /// Too many queries of all keys wait, or the gateway stops. No answer comes.
        case overloaded
        /// Too many queries of the key wait. No answer comes.
        case tooManyOfKey
    }

    package init(cluster: Cluster, layout: TopicLayout, context: ServiceContext) throws {
        attempts = try LoopOwned(thread: "insight-relay", priority: .background) {
            RelayAttempts(
                members: MembersReader(
                    cluster: cluster, topic: layout.name(of: .members), on: $0.loop, log: context.log,
                    metrics: context.metrics),
                memberClient: MemberClient(on: $0.loop))
        }
    }

    package func stop() { attempts.stop { $0.close() } }

    /// Sends a query to the insight stage.
    ///
    /// - Parameter then: Receives the answer, or nil if no process of the stage answered. It runs on the relay's
    ///   thread.
    /// - Returns: Whether the query was asked. Only then `then` is called.
    package func ask(
        _ query: InsightQuery, then: @escaping @Sendable (HTTPClientResponse?) -> Void
    ) -> Admission {
        let key = query.caller
        let admission = waiting.withLock { $0.add(of: key) }
        guard admission == .asked else { return admission }
        let body = query.encoded()
        let isTaken = attempts.execute {
            $0.ask(body: body) { answer in
                self.waiting.withLock { $0.remove(of: key) }
                then(answer)
            }
        }
        if isTaken { return .asked }
        waiting.withLock { $0.remove(of: key) }
        return .overloaded
    }
}

/// The number of queries without an answer, of all keys and of each key.
struct WaitingQueries {
    private var counts: [String: Int] = [:]
    private var total = 0

    /// Counts a query, if there is room for it.
    mutating func add(of key: String) -> InsightRelay.Admission {
        if total >= GatewayLimits.queriesWaitingMax { return .overloaded }
        let count = counts[key] ?? 0
        if count >= GatewayLimits.queriesPerKeyWaitingMax { return .tooManyOfKey }
        counts[key] = count + 1
        total += 1
        return .asked
    }

    mutating func remove(of key: String) {
        guard let count = counts[key] else { return }
        counts[key] = count > 1 ? count - 1 : nil
        total -= 1
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
        let query = InsightQuery(.tapOrigin, app: app, id: installation, parameters: parameters)
        let admission = ask(query) { answer in
            guard let answer, answer.status == 200, let body = answer.body else { return then(nil) }
            then(TapOrigin(answer: body))
        }
        return admission == .asked
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
