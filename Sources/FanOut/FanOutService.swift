package import Lifecycle
package import Stages
internal import Telemetry
package import Topics

/// The stage that turns sends into jobs. Two kinds of loop, each on a thread of its own: the planner gives
/// each send its version and its lanes, and the expander walks through a lane.
package final class FanOutService: Stage {
    package static let name = "fan-out"
    package static let summary = "turns each send into one job for each token"
    package static let topics: [TopicName] = [
        .catalog, .sends, .sendsTimed, .groups, .superseded, .expansionsUrgent, .expansions, .progress,
        .schedulesAuto, .registry, .starts, .jobsUrgent, .jobs, .deadLetters,
    ]

    /// The loops' numbers within the process: with the slot they make their ids to Kafka, so a number never
    /// means another loop.
    enum Loop: Int { case planner = 0 }

    private let settings: FanOutSettings
    private let environment: StageEnvironment
    private let planner = StageThread(name: "planner")

    package init(_ settings: FanOutSettings, in environment: StageEnvironment) {
        self.settings = settings
        self.environment = environment
    }

    private var threads: [StageThread] { [planner] }

    package var obstacles: [String] { threads.flatMap(\.obstacles) }

    package func start(_ context: ServiceContext) async throws {
        let (settings, environment) = (settings, environment)
        FreedMemory.keep()
        try await planner.start(context) { state in
            PlannerLoop(settings, in: environment, state: state)
        }
    }

    package func stop(by deadline: Instant) async {
        for thread in threads { thread.askToStop() }
        for thread in threads { thread.join() }
    }
}
