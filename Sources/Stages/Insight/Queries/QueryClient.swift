internal import HTTPClient
internal import JSON
internal import Kafka
internal import Lifecycle
internal import Members
internal import RecordFormat
internal import Telemetry

/// Asks the lanes of this process and the members that own the other lanes, and announces this process in
/// `members`. It is confined to its loop. It reads no file, because a read can block: the threads of `LaneReaders` do it.
final class QueryClient {
    let members: MembersReader
    let announcer: MemberAnnouncer
    private let localLanes: LaneReaders
    private let memberClient: MemberClient
    private let processName: String
    private let timeoutMilliseconds: Int
    private let owner: LoopOwned<QueryClient>
    private let reader = JSONReader(limits: LaneReader.jsonLimits)
    /// The queries whose rows are not complete, by their numbers.
    private var pendingQueries: [Int: PendingQuery] = [:]
    private var queryCount = 0

    /// - Parameters:
    ///   - processName: The name of this process in `members`.
    ///   - owner: The handle with the client's loop.
    init(
        localLanes: LaneReaders, members: MembersReader, announcer: MemberAnnouncer, processName: String,
        timeoutMilliseconds: Int, owner: LoopOwned<QueryClient>
    ) {
        self.localLanes = localLanes
        self.members = members
        self.announcer = announcer
        self.processName = processName
        self.timeoutMilliseconds = timeoutMilliseconds
        self.owner = owner
        memberClient = MemberClient(on: owner.loop)
        members.start()
    }

    /// Collects the rows of all lanes that answer in time.
    ///
    /// - Parameter then: Receives the rows once, on the loop.
    func run(_ query: LaneQuery, then: @escaping @Sendable (QueryResult) -> Void) {
        let localLaneNumbers = localLanes.openLaneNumbers
        var others: [String: Member] = [:]
        for (lane, owner) in members.table.owners(of: InsightService.name)
        where owner.process != processName && !localLaneNumbers.contains(lane) {
            others[owner.process] = owner
        }
        queryCount += 1
        let number = queryCount
        pendingQueries[number] = PendingQuery(awaitedAnswers: 1 + others.count, then: then)
        localLanes.read(query) { [owner] result in
            owner.execute { $0.add(result, toQuery: number) }
        }
        if others.isEmpty { return }
        let body = query.encoded()
        let deadline = Instant.now().advanced(byMilliseconds: timeoutMilliseconds)
        for member in others.values {
            memberClient.ask(member, at: QueryFanOut.path, body: body, until: deadline) { [self] answer in
                var result: QueryResult?
                if let answer, answer.status == 200, let body = answer.body {
                    result = QueryResult.decodeIfValid(body, with: reader)
                }
                add(result, toQuery: number)
            }
        }
    }

    /// Adds the answer of one process to a query. A process that does not answer adds nothing.
    private func add(_ result: QueryResult?, toQuery number: Int) {
        guard let pending = pendingQueries[number] else { return }
        if let result { pending.result.merge(result) }
        pending.awaitedAnswers -= 1
        if pending.awaitedAnswers > 0 { return }
        pendingQueries[number] = nil
        pending.then(pending.result)
    }

    /// Ends the client. Queries without all rows end with those that have come.
    func stop() {
        announcer.end()
        memberClient.end()
        for pending in pendingQueries.values { pending.then(pending.result) }
        pendingQueries = [:]
    }
}

/// The rows for one query, which arrive from one process after another. It is confined to the loop.
private final class PendingQuery {
    var result = QueryResult()
    /// The number of processes that have not answered yet, with this one.
    var awaitedAnswers: Int
    let then: @Sendable (QueryResult) -> Void

    init(awaitedAnswers: Int, then: @escaping @Sendable (QueryResult) -> Void) {
        self.awaitedAnswers = awaitedAnswers
        self.then = then
    }
}
