package import Lifecycle

/// The loop of a stage's thread. It runs until its `LoopState` asks it to stop.
package protocol ThreadLoop: AnyObject {
    func run() throws
}

/// A loop whose iterations can also be called one by one. A simulation calls them in virtual time.
package protocol IteratedLoop: ThreadLoop {
    /// Does everything that is due. Returns when and why the next iteration begins.
    func runIteration(at now: Instant) throws -> Wakeup
}

/// The thread of one loop. The thread also makes the loop, because the loop's clients are pinned to it.
package final class StageThread: Sendable {
    private let name: String
    private let priority: ThreadPriority
    private let state = LoopState()
    private let started = StartedParts<WorkerThread>()

    package init(name: String, priority: ThreadPriority = .normal) {
        self.name = name
        self.priority = priority
    }

    package var readinessProblems: [String] { state.readinessProblems }

    /// Starts the thread. Returns when the loop is made, and throws if it cannot be made. A later failure of the loop
    /// ends the process.
    package func start(
        in context: ServiceContext, makeLoop: @escaping @Sendable (LoopState) throws -> any ThreadLoop
    ) async throws {
        let (name, priority, state, started) = (name, priority, state, started)
        try await withCheckedThrowingContinuation { (ready: CheckedContinuation<Void, any Error>) in
            do {
                let worker = try WorkerThread(name: name, priority: priority) {
                    let loop: any ThreadLoop
                    do {
                        loop = try makeLoop(state)
                    } catch {
                        return ready.resume(throwing: error)
                    }
                    ready.resume()
                    do {
                        try loop.run()
                    } catch {
                        context.fail(with: error)
                    }
                }
                started.set(worker)
            } catch {
                ready.resume(throwing: error)
            }
        }
    }

    /// Asks the loop to stop and does not wait. A stage with several loops asks all of them before it
    /// joins the first.
    package func requestStop() { state.requestStop() }

    /// Waits until the loop has ended.
    package func join() { started.take()?.join() }
}
