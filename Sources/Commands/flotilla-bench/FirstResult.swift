internal import Lifecycle
internal import Synchronization

/// A result that one thread waits for and other threads complete. The first completion counts.
final class FirstResult<Value: Sendable>: Sendable {
    private let resultSignal = ThreadSignal()
    private let firstResult = Mutex<Result<Value, any Error>?>(nil)

    /// Ends the wait with this result. Any thread may call it, and a later call has no effect.
    func complete(with result: Result<Value, any Error>) {
        firstResult.withLock { $0 = $0 ?? result }
        resultSignal.raise()
    }

    /// Blocks the calling thread until the first completion.
    func wait() throws -> Value {
        resultSignal.wait()
        guard let result = firstResult.withLock({ $0 }) else {
            preconditionFailure("the signal was raised without a result")
        }
        return try result.get()
    }
}

/// Runs asynchronous work in a task, and blocks the calling thread until the task has ended. Do not call it from a task,
/// because it would block one of the few threads that run tasks.
///
/// - Returns: the result of the work.
func runBlocking<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) throws -> Value {
    let result = FirstResult<Value>()
    Task.detached {
        do {
            result.complete(with: .success(try await work()))
        } catch {
            result.complete(with: .failure(error))
        }
    }
    return try result.wait()
}
