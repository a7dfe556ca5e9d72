internal import Lifecycle
internal import StageSupport

/// The threads that read the files of this process's lanes for queries. A caller has one of them at a time.
final class LaneReaders: Sendable {
    private let openLanes: OpenLanes
    private let threads: FairThreads<LaneReader>

    /// - Parameter laneCount: The number of all lanes.
    init(openLanes: OpenLanes, laneCount: Int, freshness: FreshnessLog) throws {
        self.openLanes = openLanes
        threads = FairThreads(
            name: "insight-read", priority: .background, threads: QueryLimits.threads,
            limits: .init(
                waitingPerCallerMax: QueryLimits.waitingPerCallerMax, waitingMax: QueryLimits.waitingMax)
        ) { _ in LaneReader(openLanes: openLanes, laneCount: laneCount, freshness: freshness) }
    }

    /// The lanes that are open in this process.
    var openLaneNumbers: Set<Int> { Set(openLanes.all.map { Int($0.partition) }) }

    /// Reads the rows of all open lanes.
    ///
    /// - Parameter then: Receives the rows once, on a reading thread. If too many queries wait, it receives
    ///   `QueryLimit.waiting` at once.
    func read(_ query: LaneQuery, then: @escaping @Sendable (QueryResult) -> Void) {
        let isAccepted = threads.run(for: query.caller) { reader in
            then(reader?.answer(query) ?? QueryResult())
        }
        if isAccepted { return }
        var result = QueryResult()
        result.limit = .waiting
        then(result)
    }

    /// Ends the threads after their present queries. Waiting queries get no rows. Blocks until then.
    func stop() { threads.stop() }
}
