internal import HTTPClient
internal import JSON
internal import Kafka
internal import Lifecycle
internal import Members
internal import RecordFormat
internal import Telemetry

/// Asks the lanes of this process and the members that own the other lanes, and announces this process in
/// `members`. It is confined to its loop.
final class QueryClient {
    let members: MembersReader
    let announcer: MemberAnnouncer
    private let localLanes: LaneReader
    private let memberClient: MemberClient
    private let processName: String
    private let timeoutMilliseconds: Int

    /// - Parameter processName: The name of this process in `members`.
    init(
        localLanes: LaneReader, members: MembersReader, announcer: MemberAnnouncer, processName: String,
        timeoutMilliseconds: Int, on loop: EventLoop
    ) {
        self.localLanes = localLanes
        self.members = members
        self.announcer = announcer
        self.processName = processName
        self.timeoutMilliseconds = timeoutMilliseconds
        memberClient = MemberClient(on: loop)
        members.start()
    }

    /// Returns the rows of this process's lanes, or nil if the body is not a query.
    func answerLocally(_ body: [UInt8]) -> QueryResult? {
        LaneQuery.decodeIfValid(body, with: localLanes.reader).map { localLanes.answer($0) }
    }

    /// Collects the rows of all lanes that answer in time.
    ///
    /// - Parameter then: Receives the rows once, on the loop.
    func run(_ query: LaneQuery, then: @escaping @Sendable (QueryResult) -> Void) {
        let pending = PendingQuery(result: localLanes.answer(query), then: then)
        let localLaneNumbers = Set(pending.result.lanes)
        var others: [String: Member] = [:]
        for (lane, owner) in members.table.owners(of: InsightService.name)
        where owner.process != processName && !localLaneNumbers.contains(lane) {
            others[owner.process] = owner
        }
        pending.awaitedAnswers = others.count
        if others.isEmpty { return pending.end() }
        let body = query.encoded()
        let deadline = Instant.now().advanced(byMilliseconds: timeoutMilliseconds)
        for member in others.values {
            memberClient.ask(member, at: QueryFanOut.path, body: body, until: deadline) {
                [localLanes] answer in
                if let answer, answer.status == 200, let body = answer.body,
                    let result = QueryResult.decodeIfValid(body, with: localLanes.reader)
                {
                    pending.result.merge(result)
                }
                pending.awaitedAnswers -= 1
                if pending.awaitedAnswers == 0 { pending.end() }
            }
        }
    }

    func stop() {
        announcer.end()
        memberClient.end()
    }
}

/// The rows for one query, which arrive from one member after another. It is confined to the loop.
private final class PendingQuery {
    var result: QueryResult
    /// The number of members that have not answered yet.
    var awaitedAnswers = 0
    private let then: @Sendable (QueryResult) -> Void

    init(result: QueryResult, then: @escaping @Sendable (QueryResult) -> Void) {
        self.result = result
        self.then = then
    }

    func end() { then(result) }
}
