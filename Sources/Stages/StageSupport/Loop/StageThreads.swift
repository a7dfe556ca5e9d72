package import Lifecycle
package import Telemetry

/// The threads of a stage, one for each of its loops.
package final class StageThreads: Sendable {
    /// A loop, before its thread makes it. The loop's clients are pinned to that thread.
    package struct Loop: Sendable {
        let name: String
        let priority: ThreadPriority
        let makeLoop: @Sendable (ServiceContext, LoopState) throws -> any IteratedLoop

        /// - Parameters:
        ///   - clock: the machine's clock.
        ///   - onStep: called at every step, on the loop's thread.
        package init<Decider: StageDecider>(
            name: String, priority: ThreadPriority = .normal, clock: @escaping @Sendable () -> WallTime,
            onStep: @escaping @Sendable (Decider.Step) -> Void,
            decider: @escaping @Sendable (StageContext<Decider.Step>) throws -> Decider
        ) {
            self.name = name
            self.priority = priority
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

    /// - Parameter configureAllocator: sets up the allocator of the process, before the first loop is made.
    package init(
        loops: [Loop],
        configureAllocator: @escaping @Sendable () -> Void = { AllocatorSettings.keepFreedMemory() }
    ) {
        self.loops = loops.map { (StageThread(name: $0.name, priority: $0.priority), $0) }
        self.configureAllocator = configureAllocator
    }

    package var readinessProblems: [String] { loops.flatMap(\.thread.readinessProblems) }

    /// Starts one loop after the other. Throws if a loop cannot be made.
    package func start(in context: ServiceContext) async throws {
        configureAllocator()
        for (thread, loop) in loops {
            try await thread.start(in: context) { state in try loop.makeLoop(context, state) }
        }
    }

    /// Makes the loops without their threads, for a simulation, which runs the iterations itself. Call it once for each
    /// start.
    package func makeLoops(in context: ServiceContext) throws -> [(loop: any IteratedLoop, state: LoopState)]
    {
        try loops.map { _, loop in
            let state = LoopState()
            return (try loop.makeLoop(context, state), state)
        }
    }

    /// Asks all loops to stop before it joins the first.
    package func stop() {
        for (thread, _) in loops { thread.requestStop() }
        for (thread, _) in loops { thread.join() }
    }
}
