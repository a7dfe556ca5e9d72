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
    private let settleMilliseconds: Int
    private let thread = StageThread(name: IngestService.name)

    package convenience init(_ settings: IngestSettings, in environment: StageEnvironment) {
        self.init(settings, in: environment) { _ in }
    }

    /// - Parameters:
    ///   - clock: The wall clock of this process.
    ///   - settleMilliseconds: the time for which the loop watches the clocks before its first irreversible act.
    ///   - onStep: A callback for every step, on the loop's thread. Tests end the process there.
    package init(
        _ settings: IngestSettings, in environment: StageEnvironment,
        clock: @escaping @Sendable () -> WallTime = { .now() },
        settleMilliseconds: Int = ClusterClock.settleMilliseconds,
        onStep: @escaping @Sendable (IngestStep) -> Void
    ) {
        self.settings = settings
        self.clock = clock
        self.environment = environment
        self.settleMilliseconds = settleMilliseconds
        self.onStep = onStep
    }

    package var obstacles: [String] { thread.obstacles }

    package func start(_ context: ServiceContext) async throws {
        let (settings, environment, clock, onStep) = (settings, environment, clock, onStep)
        let settleMilliseconds = settleMilliseconds
        FreedMemory.keep()
        try await thread.start(context) { state in
            let decider = try IngestDecider(
                settings, in: environment,
                StageContext(
                    state: state, log: context.log, metrics: context.metrics,
                    time: StageTime(wall: clock), onStep: onStep),
                settleMilliseconds: settleMilliseconds)
            return StageLoop(decider.stage, decider, state: state)
        }
    }

    package func stop(by deadline: Instant) async {
        thread.askToStop()
        thread.join()
    }
}
