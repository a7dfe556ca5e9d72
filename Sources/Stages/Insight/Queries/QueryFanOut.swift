internal import Kafka
internal import Lifecycle
internal import Members
internal import RecordFormat
internal import Telemetry

/// Asks all lanes a `LaneQuery`. The lanes that are open in this process answer from their files, the others
/// through the processes that announce themselves in `members`.
///
/// It can be called on any thread. `QueryClient` does the work on its loop.
final class QueryFanOut: Sendable {
    /// The HTTP path at which processes of the stage ask each other.
    static let path = "/parts"

    private let client: LoopOwned<QueryClient>

    init(client: LoopOwned<QueryClient>) { self.client = client }

    /// Returns the rows of all lanes that answer in time.
    func run(_ query: LaneQuery) async -> QueryResult {
        await withCheckedContinuation { continuation in
            let isAccepted = client.execute { $0.run(query) { continuation.resume(returning: $0) } }
            if !isAccepted { continuation.resume(returning: QueryResult()) }
        }
    }

    /// Finds the rows of this process's lanes.
    ///
    /// - Parameters:
    ///   - body: The query that another process sent, as JSON.
    ///   - then: Receives the rows, or nil if the body is not a query.
    func answerLocally(_ body: [UInt8], then: @escaping @Sendable (QueryResult?) -> Void) {
        let isAccepted = client.execute { then($0.answerLocally(body)) }
        if !isAccepted { then(nil) }
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
