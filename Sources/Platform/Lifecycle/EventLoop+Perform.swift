internal import Synchronization

extension EventLoop {
    /// Runs a job on the loop and waits for its result. Returns nil if the loop has stopped. It blocks the
    /// calling thread, so it is for start, stop and tests only. It must not be called on a loop's thread.
    package func perform<Value: Sendable>(_ job: @escaping @Sendable () -> Value) -> Value? {
        precondition(EventLoop.current == nil, "an event loop must not wait for another event loop")
        let result = PendingResult<Value>()
        guard execute({ result.set(job()) }) else { return nil }
        return result.wait()
    }

    /// Starts the thread and runs a first job on it. If the job throws, stops the loop and throws the error.
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
    private let isSet = ThreadSignal()
    private let value = Mutex<Value?>(nil)

    func set(_ newValue: Value) {
        value.withLock { $0 = newValue }
        isSet.raise()
    }

    func wait() -> Value? {
        isSet.wait()
        return value.withLock { $0 }
    }
}
