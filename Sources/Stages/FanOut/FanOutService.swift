internal import Lifecycle
package import StageSupport
package import Telemetry
package import Topics

/// The stage that turns sends into jobs. It has two kinds of loop, each with its own thread. The planner
/// assigns a version and lanes to each send. The expander walks through the recipients of a lane.
package final class FanOutService: LoopStage {
    package static let name = "fan-out"
    package static let summary = "turns each send into one job for each token"
    package static let fileDescriptors = StageFileDescriptors(clients: 10, filesPerLane: 3)
    package static let topics: [TopicName] = [
        .catalog, .sends, .sendsTimed, .subscriptions, .groups, .superseded, .expansionsUrgent, .expansions,
        .progress, .replies,
        .schedulesAuto, .registry, .starts, .jobsUrgent, .jobs, .deadLetters,
    ]

    /// The numbers of the loops within the process. The slot and this number make a loop's Kafka identity, so
    /// a number is never used for another loop.
    package enum Loop: Int, CaseIterable, Sendable {
        case planner = 0
        case expander = 1
    }

    /// The freed memory that each heap keeps. Kafka client threads have separate heaps. Without a limit,
    /// memory from their busiest moment was a third of the process.
    private static let keptBytes: Int32 = 8 << 20
    /// The size from which allocations are mapped. LMDB allocates lists of 1 and 2 MiB for each file and
    /// hardly uses them. Mapped and unused, they take no memory.
    private static let mappedBytes: Int32 = 1 << 20

    package let threads: StageThreads

    package convenience init(_ settings: FanOutSettings, in environment: StageEnvironment) {
        self.init(settings, in: environment) { _ in }
    }

    /// Makes a stage for tests, which look at one kind of loop at a time.
    ///
    /// - Parameters:
    ///   - onPlannerStep: called at every step, on the planner's thread. A test may end the process there.
    ///   - onExpanderStep: the same for the expander.
    ///   - clock: the machine's clock.
    ///   - settleMilliseconds: the time for which a loop watches the clocks before its first irreversible act.
    package init(
        _ settings: FanOutSettings, in environment: StageEnvironment, loops: [Loop] = Loop.allCases,
        clock: @escaping @Sendable () -> WallTime = { .now() },
        settleMilliseconds: Int = ClusterClock.settleMilliseconds,
        onPlannerStep: @escaping @Sendable (PlannerStep) -> Void,
        onExpanderStep: @escaping @Sendable (ExpanderStep) -> Void = { _ in }
    ) {
        let made = loops.map { loop in
            switch loop {
            case .planner:
                StageThreads.Loop(name: "planner", clock: clock, onStep: onPlannerStep) { context in
                    try PlannerDecider(
                        settings: settings, in: environment, context: context,
                        settleMilliseconds: settleMilliseconds)
                }
            case .expander:
                StageThreads.Loop(name: "expander", clock: clock, onStep: onExpanderStep) { context in
                    try ExpanderDecider(
                        settings: settings, in: environment, context: context,
                        settleMilliseconds: settleMilliseconds)
                }
            }
        }
        threads = StageThreads(loops: made) {
            AllocatorSettings.keepFreedMemory(keptBytes: Self.keptBytes, mappedBytes: Self.mappedBytes)
        }
    }
}
