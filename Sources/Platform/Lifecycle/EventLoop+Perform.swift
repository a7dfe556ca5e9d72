internal import Synchronization

extension EventLoop {
    /// Runs a job on the loop and waits for its result. Returns nil if the loop has stopped. It is for start,
    /// stop and tests, because it blocks its thread. It must not be called on a loop's thread.
    package func perform<Value: Sendable>(_ job: @escaping @Sendable () -> Value) -> Value? {
        precondition(EventLoop.current == nil, "an event loop must not wait for another event loop")
        let result = PendingResult<Value>()
        guard execute({ result.set(job()) }) else { return nil }
        return result.wait()
    }

    /// Starts the thread and runs the owner's first job on it. If the job fails, the loop is stopped.
    package func start(with job: @escaping @Sendable () throws -> Void) throws {
        try start()
        do {
            try perform { Result { try job() } }?.get()
        } catch {
            stop()
            throw error
        }
    }
}

/// A value that one thread waits for.
private final class PendingResult<Value: Sendable>: Sendable {
    private let resultSignal = ThreadSignal()
    private let value = Mutex<Value?>(nil)

    func set(_ newValue: Value) {
        value.withLock { $0 = newValue }
        resultSignal.raise()
    }

    func wait() -> Value? {
        resultSignal.wait()
        return value.withLock { $0 }
    }
}
