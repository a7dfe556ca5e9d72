package import Lifecycle
package import StageSupport
package import Telemetry
package import Topics

/// The stage that merges reports, as a part of a process. It has one loop on one thread.
package final class IngestService: Stage {
    package static let name = "ingest"
    package static let summary = "merges the reports of phones into the registry of tokens"
    package static let descriptors = StageDescriptors(clients: 4, filesOfLane: 1)
    package static let topics: [TopicName] = [
        .catalog, .reports, .installations, .registry, .events, .deadLetters,
    ]

    private let settings: IngestSettings
    private let environment: StageEnvironment
    private let clock: @Sendable () -> WallTime
    private let onStep: @Sendable (IngestStep) -> Void
    private let thread = StageThread(name: IngestService.name)

    package convenience init(_ settings: IngestSettings, in environment: StageEnvironment) {
        self.init(settings, in: environment) { _ in }
    }

    /// - Parameters:
    ///   - clock: The wall clock of this process.
    ///   - onStep: A callback for every step, on the loop's thread. Tests end the process there.
    package init(
        _ settings: IngestSettings, in environment: StageEnvironment,
        clock: @escaping @Sendable () -> WallTime = { .now() },
        onStep: @escaping @Sendable (IngestStep) -> Void
    ) {
        self.settings = settings
        self.clock = clock
        self.environment = environment
        self.onStep = onStep
    }

    package var obstacles: [String] { thread.obstacles }

    package func start(_ context: ServiceContext) async throws {
        let (settings, environment, clock, onStep) = (settings, environment, clock, onStep)
        FreedMemory.keep()
        try await thread.start(context) { state in
            try IngestLoop(
                settings, in: environment, clock: clock, shared: state, log: context.log,
                metrics: context.metrics, onStep: onStep)
        }
    }

    package func stop(by deadline: Instant) async {
        thread.askToStop()
        thread.join()
    }
}
