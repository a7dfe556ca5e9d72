package import Lifecycle
package import Stages
package import Topics

/// The stage that keeps the read models of what became of sends and people, as a part of a process: one loop on
/// a thread of its own.
package final class InsightService: Stage {
    package static let name = "insight"
    package static let summary = "keeps figures of what became of sends, and of what phones told"
    package static let topics: [TopicName] = InsightTopic.allCases.map(\.name)

    private let settings: InsightSettings
    private let environment: StageEnvironment
    private let onStep: @Sendable (InsightStep) -> Void
    private let thread = StageThread(name: InsightService.name)

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
        FreedMemory.keep()
        try await thread.start(context) { state in
            try InsightLoop(
                settings, in: environment, state: state, log: context.log, metrics: context.metrics,
                onStep: onStep)
        }
    }

    package func stop(by deadline: Instant) async {
        thread.askToStop()
        thread.join()
    }
}
