internal import HTTPServer
package import Lifecycle
package import Members
package import StageSupport
package import Topics

/// The stage that keeps the results of sends and the state of people. The thread of `InsightLoop` writes the
/// topics to files, and `QueryServer` answers queries from the files on other threads.
package final class InsightService: Stage {
    package static let name = "insight"
    package static let summary =
        "keeps results of sends and states of people, and answers questions about them"
    /// Each topic has an LMDB file in each lane, except `events`: the loop and each reading thread open a SQLite file.
    package static let fileDescriptors = StageFileDescriptors(
        clients: 4, filesPerLane: 7, databasesPerLane: 1 + QueryLimits.threads)
    package static let topics: [TopicName] = InsightTopic.allCases.map(\.name) + [.members]

    private let settings: InsightSettings
    private let environment: StageEnvironment
    private let onStep: @Sendable (InsightStep) -> Void
    /// The size from which on an allocation gets its own memory mapping. LMDB allocates 3 MiB for each file
    /// and uses little of it. In its own mapping the unused part is never touched. On the heap it would reuse
    /// old memory, which must be cleared.
    private static let mappedBytes: Int32 = 1 << 20
    private let thread = StageThread(name: InsightService.name, priority: .background)
    private let queryServer = StartedParts<QueryServer>()

    package convenience init(_ settings: InsightSettings, in environment: StageEnvironment) {
        self.init(settings, in: environment) { _ in }
    }

    /// - Parameter onStep: Called after every step on the loop's thread. Tests end the process in it.
    package init(
        _ settings: InsightSettings, in environment: StageEnvironment,
        onStep: @escaping @Sendable (InsightStep) -> Void
    ) {
        self.settings = settings
        self.environment = environment
        self.onStep = onStep
    }

    package var readinessProblems: [String] { thread.readinessProblems }

    package func start(_ context: ServiceContext) async throws {
        let (settings, environment, onStep) = (settings, environment, onStep)
        AllocatorSettings.keepFreedMemory(mappedBytes: Self.mappedBytes)
        let openLanes = OpenLanes()
        let freshness = FreshnessLog(log: context.log)
        let server = try QueryServer(
            settings: settings, in: environment, openLanes: openLanes, freshness: freshness, context: context)
        do {
            try await thread.start(in: context) { state in
                try InsightLoop(
                    settings: settings, in: environment, state: state, log: context.log,
                    metrics: context.metrics,
                    openLanes: openLanes, freshness: freshness, onStep: onStep)
            }
        } catch {
            await server.stop(by: .now())
            throw error
        }
        queryServer.set(server)
    }

    /// Returns the body that a gateway would receive for a call, or nil while the stage does not run.
    package func answer(_ call: InsightQuery) async -> [UInt8]? { await queryServer.parts?.answer(call).body }

    package func stop(by deadline: Instant) async {
        thread.requestStop()
        if let server = queryServer.take() { await server.stop(by: deadline) }
        thread.join()
    }
}
