package import Lifecycle
package import StageSupport
package import Telemetry
package import Topics

/// The stage that stores scheduled sends and writes them when they are due. It has one loop with its own
/// thread.
package final class SchedulerService: Stage {
    package static let name = "scheduler"
    package static let summary = "writes scheduled sends when they are due, once each"
    package static let descriptors = StageDescriptors(clients: 4, filesOfLane: 1)
    package static let topics: [TopicName] = [
        .schedules, .schedulesAuto, .timers, .sendsTimed, .progress, .replies, .deadLetters,
    ]

    private let settings: SchedulerSettings
    private let environment: StageEnvironment
    private let clock: @Sendable () -> WallTime
    private let onStep: @Sendable (SchedulerStep) -> Void
    private let thread = StageThread(name: SchedulerService.name)

    package convenience init(_ settings: SchedulerSettings, in environment: StageEnvironment) {
        self.init(settings, in: environment) { _ in }
    }

    /// - Parameters:
    ///   - clock: the clock of this machine.
    ///   - onStep: called at every step, on the loop's thread. Tests end the process there.
    package init(
        _ settings: SchedulerSettings, in environment: StageEnvironment,
        clock: @escaping @Sendable () -> WallTime = { .now() },
        onStep: @escaping @Sendable (SchedulerStep) -> Void
    ) {
        self.settings = settings
        self.environment = environment
        self.clock = clock
        self.onStep = onStep
    }

    package var obstacles: [String] { thread.obstacles }

    package func start(_ context: ServiceContext) async throws {
        let (settings, environment, clock, onStep) = (settings, environment, clock, onStep)
        FreedMemory.keep()
        try await thread.start(context) { state in
            let decider = try SchedulerDecider(
                settings, in: environment,
                StageContext(
                    state: state, log: context.log, metrics: context.metrics,
                    time: StageTime(wall: clock), onStep: onStep))
            return StageLoop(decider.stage, decider, state: state)
        }
    }

    package func stop(by deadline: Instant) async {
        thread.askToStop()
        thread.join()
    }
}
