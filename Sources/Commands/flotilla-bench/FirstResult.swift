internal import Lifecycle
internal import Synchronization

/// A result that one thread waits for. Other threads complete it, and the first completion counts.
final class FirstResult<Value: Sendable>: Sendable {
    private let resultSignal = ThreadSignal()
    private let firstResult = Mutex<Result<Value, any Error>?>(nil)

    func complete(with result: Result<Value, any Error>) {
        firstResult.withLock { $0 = $0 ?? result }
        resultSignal.raise()
    }

    func wait() throws -> Value {
        resultSignal.wait()
        guard let result = firstResult.withLock({ $0 }) else {
            preconditionFailure("the signal was raised without a result")
        }
        return try result.get()
    }
}

/// Runs asynchronous work in a task. Blocks the calling thread until the task has ended.
func runBlocking<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) throws -> Value {
    let result = FirstResult<Value>()
    Task.detached {
        do { result.complete(with: .success(try await work())) } catch {
            result.complete(with: .failure(error))
        }
    }
    return try result.wait()
}
