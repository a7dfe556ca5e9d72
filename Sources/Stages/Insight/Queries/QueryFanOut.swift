internal import JSON
internal import Kafka
internal import Lifecycle
internal import Members
internal import RecordFormat
internal import Telemetry

/// Asks all lanes a `LaneQuery`. The lanes that are open in this process answer from their files, the others
/// through the processes that announce themselves in `members`.
///
/// It can be called on any thread. `QueryClient` does the work on its loop.
struct QueryFanOut: Sendable {
    /// The HTTP path at which a process of the stage gets its part of a `QueryResult` from another one.
    static let path = "/parts"

    let client: LoopOwned<QueryClient>
    let localLanes: LaneReaders
    /// The caller whose turn the queries use (`FairThreads`): an API key, or the log of freshness. `QueryHandler` sets it
    /// in its own copy.
    var caller = ""

    init(client: LoopOwned<QueryClient>, localLanes: LaneReaders) {
        (self.client, self.localLanes) = (client, localLanes)
    }

    /// Returns the rows of all lanes that answer in time.
    func run(_ query: LaneQuery) async -> QueryResult {
        var query = query
        query.caller = caller
        return await withCheckedContinuation { [query] continuation in
            let isAccepted = client.execute { $0.run(query) { continuation.resume(returning: $0) } }
            // The loop has ended. No lane has answered in an empty result, so the answer names all lanes as missing.
            if !isAccepted { continuation.resume(returning: QueryResult()) }
        }
    }

    /// Finds the rows of this process's lanes.
    ///
    /// - Parameters:
    ///   - body: The query that another process sent, as JSON.
    ///   - then: Receives the rows, or nil if the body is not a query.
    func answerLocally(_ body: [UInt8], then: @escaping @Sendable (QueryResult?) -> Void) {
        let reader = JSONReader(limits: LaneReader.jsonLimits)
        guard let query = LaneQuery.decodeIfValid(body, with: reader) else { return then(nil) }
        localLanes.read(query, then: then)
    }

    /// Returns the processes of this stage that announce themselves in `members`.
    func knownMembers() async -> [Member] {
        await withCheckedContinuation { continuation in
            let isAccepted = client.execute {
                continuation.resume(returning: $0.members.table.members(of: InsightService.name))
            }
            if !isAccepted { continuation.resume(returning: []) }
        }
    }

    /// Returns the facts about themselves that processes of all stages publish in `members`.
    func knownProcesses() async -> [ProcessFacts] {
        await withCheckedContinuation { continuation in
            let isAccepted = client.execute { continuation.resume(returning: $0.members.table.processes) }
            if !isAccepted { continuation.resume(returning: []) }
        }
    }
}
