internal import Lifecycle

/// The results of a client's queries that its loop has not taken. Query threads add them.
final class QueryResults: Sendable {
    private struct CollectedResults {
        var queryCount: UInt64 = 0
        var results: [(OffsetQueryID, OffsetQueryResult)] = []
    }

    private let state = TracedLock(CollectedResults())

    /// Returns the number of a new query.
    func nextID() -> OffsetQueryID {
        state.withLock { state in
            state.queryCount += 1
            return OffsetQueryID(number: state.queryCount)
        }
    }

    func add(_ result: OffsetQueryResult, for id: OffsetQueryID) {
        state.withLock { $0.results.append((id, result)) }
    }

    func takeAll() -> [(OffsetQueryID, OffsetQueryResult)] {
        state.withLock { state in
            defer { state.results = [] }
            return state.results
        }
    }
}
