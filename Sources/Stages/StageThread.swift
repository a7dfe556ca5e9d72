package import Lifecycle

/// What a thread of a stage does, in turns, until its `LoopState` says that it must stop.
package protocol StageLoop: AnyObject {
    func run() throws
}

/// One loop of a stage on a thread of its own, which also makes it: its clients are pinned to that thread.
package final class StageThread: Sendable {
    private let name: String
    private let state = LoopState()
    private let started = Started<WorkerThread>()

    package init(name: String) { self.name = name }

    package var obstacles: [String] { state.obstacles }

    /// Returns when the loop is made, and throws what kept it from being made. What ends it later ends the
    /// process.
    package func start(
        _ context: ServiceContext, _ make: @escaping @Sendable (LoopState) throws -> any StageLoop
    ) async throws {
        let (name, state, started) = (name, state, started)
        try await withCheckedThrowingContinuation { (ready: CheckedContinuation<Void, any Error>) in
            do {
                let worker = try WorkerThread(name: name) {
                    let loop: any StageLoop
                    do {
                        loop = try make(state)
                    } catch {
                        return ready.resume(throwing: error)
                    }
                    ready.resume()
                    do {
                        try loop.run()
                    } catch {
                        context.fail(error)
                    }
                }
                started.put(worker)
            } catch {
                ready.resume(throwing: error)
            }
        }
    }

    /// Where a stage has several, all are asked before the first is waited for.
    package func askToStop() { state.stop() }

    package func join() { started.take()?.join() }
}
