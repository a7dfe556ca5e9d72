internal import Lifecycle
internal import Synchronization

/// A result that one thread waits for. Other threads give results, and the first one counts.
final class FirstResult<Value: Sendable>: Sendable {
    private let isThere = ThreadSignal()
    private let first = Mutex<Result<Value, any Error>?>(nil)

    func give(_ result: Result<Value, any Error>) {
        first.withLock { $0 = $0 ?? result }
        isThere.raise()
    }

    func wait() throws -> Value {
        isThere.wait()
        guard let result = first.withLock({ $0 }) else {
            preconditionFailure("a result that was announced is there")
        }
        return try result.get()
    }
}
