package import Lifecycle

/// A stage that consists of loops, each with its own thread.
package protocol LoopStage: Stage {
    var threads: StageThreads { get }
}

extension LoopStage {
    package var readinessProblems: [String] { threads.readinessProblems }

    package func start(_ context: ServiceContext) async throws { try await threads.start(in: context) }

    package func stop(by deadline: Instant) async { threads.stop() }
}
