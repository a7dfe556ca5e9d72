internal import HTTPClient
internal import JSON
internal import Kafka
internal import Lifecycle
internal import Members
internal import RecordFormat
internal import Telemetry

/// The questions to all lanes. Its own lanes answer from their files, the others through the processes in
/// `members`.
final class QueryFanOut: Sendable {
    static let path = "/parts"

    private let client: LoopOwned<QueryClient>

    init(client rounds: LoopOwned<QueryClient>) { self.client = rounds }

    /// Returns the rows of all lanes that answer in time.
    func run(_ question: LaneQuery) async -> QueryResult {
        await withCheckedContinuation { waiting in
            let isTaken = client.execute { $0.run(question) { waiting.resume(returning: $0) } }
            if !isTaken { waiting.resume(returning: QueryResult()) }
        }
    }

    /// Finds the rows of this process's lanes.
    ///
    /// - Parameters:
    ///   - body: The question that another process sent.
    ///   - then: Receives the rows, or nil if the body is not a question.
    func answerLocally(_ body: [UInt8], then: @escaping @Sendable (QueryResult?) -> Void) {
        let isTaken = client.execute { then($0.answerLocally(body)) }
        if !isTaken { then(nil) }
    }

    /// Returns the processes of this stage that announce themselves in `members`.
    func knownMembers() async -> [Member] {
        await withCheckedContinuation { waiting in
            let isTaken = client.execute {
                waiting.resume(returning: $0.members.table.members(of: InsightService.name))
            }
            if !isTaken { waiting.resume(returning: []) }
        }
    }

    /// Returns the facts that processes of all stages publish in `members`.
    func knownProcesses() async -> [ProcessFacts] {
        await withCheckedContinuation { waiting in
            let isTaken = client.execute { waiting.resume(returning: $0.members.table.processes) }
            if !isTaken { waiting.resume(returning: []) }
        }
    }

}

/// The known members, the links to them, and the announcement of this process. It is confined to its loop.
final class QueryClient {
    let members: MembersReader
    let announcer: MemberAnnouncer
    private let localLanes: LaneReader
    private let memberClient: MemberClient
    private let processName: String
    private let timeoutMilliseconds: Int

    /// - Parameter own: The name of this process in `members`.
    init(
        localLanes local: LaneReader, members: MembersReader, announcer: MemberAnnouncer, processName: String,
        timeoutMilliseconds: Int, on loop: EventLoop
    ) {
        self.localLanes = local
        self.members = members
        self.announcer = announcer
        self.processName = processName
        self.timeoutMilliseconds = timeoutMilliseconds
        memberClient = MemberClient(on: loop)
        members.start()
    }

    func answerLocally(_ body: [UInt8]) -> QueryResult? {
        LaneQuery.decodeIfValid(body, with: localLanes.reader).map { localLanes.answer($0) }
    }

    func run(_ question: LaneQuery, then: @escaping @Sendable (QueryResult) -> Void) {
        let pending = PendingQuery(found: localLanes.answer(question), then: then)
        let known = Set(pending.found.lanes)
        var others: [String: Member] = [:]
        for (lane, owner) in members.table.owners(of: InsightService.name)
        where owner.process != processName && !known.contains(lane) {
            others[owner.process] = owner
        }
        pending.left = others.count
        if others.isEmpty { return pending.end() }
        let body = question.encoded()
        let deadline = Instant.now().advanced(byMilliseconds: timeoutMilliseconds)
        for member in others.values {
            memberClient.ask(member, at: QueryFanOut.path, body: body, until: deadline) {
                [localLanes] answer in
                if let answer, answer.status == 200, let body = answer.body,
                    let found = QueryResult.decodeIfValid(body, with: localLanes.reader)
                {
                    pending.found.merge(found)
                }
                pending.left -= 1
                if pending.left == 0 { pending.end() }
            }
        }
    }

    func end() {
        announcer.end()
        memberClient.end()
    }
}

/// The answers of one question, which arrive one by one. It is confined to the loop.
private final class PendingQuery {
    var found: QueryResult
    var left = 0
    private let then: @Sendable (QueryResult) -> Void

    init(found: QueryResult, then: @escaping @Sendable (QueryResult) -> Void) {
        self.found = found
        self.then = then
    }

    func end() { then(found) }
}
