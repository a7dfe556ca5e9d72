package import Lifecycle
package import Telemetry

/// A stage that consists of loops, each with its own thread.
package protocol LoopStage: Stage {
    var threads: StageThreads { get }
}

extension LoopStage {
    package var readinessProblems: [String] { threads.obstacles }

    package func start(_ context: ServiceContext) async throws { try await threads.start(context) }

    package func stop(by deadline: Instant) async { threads.stop() }
}

/// The threads of a stage.
package final class StageThreads: Sendable {
    /// A loop that its thread makes.
    package struct Loop: Sendable {
        let name: String
        let make: @Sendable (ServiceContext, LoopState) throws -> any ThreadLoop

        /// - Parameters:
        ///   - clock: the machine's clock.
        ///   - onStep: called at every step, on the loop's thread.
        package init<Decider: StageDecider>(
            name: String, clock: @escaping @Sendable () -> WallTime,
            onStep: @escaping @Sendable (Decider.Step) -> Void,
            decider: @escaping @Sendable (StageContext<Decider.Step>) throws -> Decider
        ) {
            self.name = name
            make = { context, state in
                StageLoop(
                    try decider(
                        StageContext(
                            state: state, log: context.log, metrics: context.metrics,
                            time: StageTime(wall: clock), onStep: onStep)))
            }
        }
    }

    private let loops: [(thread: StageThread, loop: Loop)]
    private let keepMemory: @Sendable () -> Void

    /// - Parameter keepMemory: sets the allocator for the stage's process.
    package init(
        _ loops: [Loop], keepMemory: @escaping @Sendable () -> Void = { AllocatorSettings.keepFreedMemory() }
    ) {
        self.loops = loops.map { (StageThread(name: $0.name), $0) }
        self.keepMemory = keepMemory
    }

    package var obstacles: [String] { loops.flatMap(\.thread.readinessProblems) }

    package func start(_ context: ServiceContext) async throws {
        keepMemory()
        for (thread, loop) in loops {
            try await thread.start(in: context) { state in try loop.make(context, state) }
        }
    }

    /// Asks all loops to stop before it joins the first.
    package func stop() {
        for (thread, _) in loops { thread.requestStop() }
        for (thread, _) in loops { thread.join() }
    }
}
