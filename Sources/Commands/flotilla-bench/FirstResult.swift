internal import Lifecycle
internal import Synchronization

/// A result that one thread waits for. Other threads give results, and the first one counts.
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
            preconditionFailure("a result that was announced is there")
        }
        return try result.get()
    }
}
