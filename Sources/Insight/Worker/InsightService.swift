internal import HTTPServer
package import Lifecycle
package import LiveActivity
package import Stages
package import Topics

/// The stage that keeps the read models of what became of sends and people, as a part of a process: one loop on a
/// thread of its own that reads, and one that answers.
package final class InsightService: Stage {
    package static let name = "insight"
    package static let summary = "keeps what became of sends and people, and answers questions about it"
    package static let topics: [TopicName] = InsightTopic.allCases.map(\.name) + [.members]

    private let settings: InsightSettings
    private let environment: StageEnvironment
    private let onStep: @Sendable (InsightStep) -> Void
    /// LMDB reserves 3 MiB for each file, of which it uses little: as pieces of their own they stay untouched, where in a
    /// heap they would lie on what was used before, and be cleared.
    private static let mappedBytes: Int32 = 1 << 20
    private let thread = StageThread(name: InsightService.name)
    private let answers = Started<AnswersServer>()

    package convenience init(_ settings: InsightSettings, in environment: StageEnvironment) {
        self.init(settings, in: environment) { _ in }
    }

    /// - Parameter onStep: told of every step, on the loop's thread; for tests, which end the process there.
    package init(
        _ settings: InsightSettings, in environment: StageEnvironment,
        onStep: @escaping @Sendable (InsightStep) -> Void
    ) {
        self.settings = settings
        self.environment = environment
        self.onStep = onStep
    }

    package var obstacles: [String] { thread.obstacles }

    package func start(_ context: ServiceContext) async throws {
        let (settings, environment, onStep) = (settings, environment, onStep)
        FreedMemory.keep(mappedBytes: Self.mappedBytes)
        let open = OpenLanes()
        let server = try AnswersServer(settings, in: environment, open: open, context: context)
        do {
            try await thread.start(context) { state in
                try InsightLoop(
                    settings, in: environment, state: state, log: context.log, metrics: context.metrics,
                    open: open, onStep: onStep)
            }
        } catch {
            await server.stop(by: .now())
            throw error
        }
        answers.put(server)
    }

    /// As a gateway would hear it; nil while the stage does not run.
    package func answer(_ call: InsightCall) async -> [UInt8]? { await answers.parts?.answer(call).body }

    package func stop(by deadline: Instant) async {
        thread.askToStop()
        if let server = answers.take() { await server.stop(by: deadline) }
        thread.join()
    }
}
