package import Lifecycle
package import Telemetry

/// A stage that consists of loops, each with its own thread.
package protocol LoopStage: Stage {
    var threads: StageThreads { get }
}

extension LoopStage {
    package var readinessProblems: [String] { threads.readinessProblems }

    package func start(_ context: ServiceContext) async throws { try await threads.start(in: context) }

    package func stop(by deadline: Instant) async { threads.stop() }
}

/// The threads of a stage.
package final class StageThreads: Sendable {
    /// A loop that its thread makes.
    package struct Loop: Sendable {
        let name: String
        let makeLoop: @Sendable (ServiceContext, LoopState) throws -> any ThreadLoop

        /// - Parameters:
        ///   - clock: the machine's clock.
        ///   - onStep: called at every step, on the loop's thread.
        package init<Decider: StageDecider>(
            name: String, clock: @escaping @Sendable () -> WallTime,
            onStep: @escaping @Sendable (Decider.Step) -> Void,
            decider: @escaping @Sendable (StageContext<Decider.Step>) throws -> Decider
        ) {
            self.name = name
            makeLoop = { context, state in
                StageLoop(
                    decider: try decider(
                        StageContext(
                            state: state, log: context.log, metrics: context.metrics,
                            time: StageTime(wall: clock), onStep: onStep)))
            }
        }
    }

    private let loops: [(thread: StageThread, loop: Loop)]
    private let configureAllocator: @Sendable () -> Void

    /// - Parameter keepMemory: sets the allocator for the stage's process.
    package init(
        loops: [Loop],
        configureAllocator: @escaping @Sendable () -> Void = { AllocatorSettings.keepFreedMemory() }
    ) {
        self.loops = loops.map { (StageThread(name: $0.name), $0) }
        self.configureAllocator = configureAllocator
    }

    package var readinessProblems: [String] { loops.flatMap(\.thread.readinessProblems) }

    package func start(in context: ServiceContext) async throws {
        configureAllocator()
        for (thread, loop) in loops {
            try await thread.start(in: context) { state in try loop.makeLoop(context, state) }
        }
    }

    /// Asks all loops to stop before it joins the first.
    package func stop() {
        for (thread, _) in loops { thread.requestStop() }
        for (thread, _) in loops { thread.join() }
    }
}
