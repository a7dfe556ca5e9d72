internal import Glibc
internal import Synchronization

extension EventLoop {
    /// Runs a job on the loop and waits for its result; nil when the loop has stopped. For start, stop
    /// and tests: it blocks its thread, and is a fault on a loop's thread.
    package func perform<Value: Sendable>(_ job: @escaping @Sendable () -> Value) -> Value? {
        precondition(EventLoop.current == nil, "an event loop must not wait for one")
        let result = PendingResult<Value>()
        guard execute({ result.set(job()) }) else { return nil }
        return result.wait()
    }

    /// Starts the thread with its owner's first job on it. Where that fails there is no loop to stop.
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

/// A value that one thread waits for. Owned by both; `@unchecked Sendable` because the value is
/// locked and a semaphore is made for threads.
@safe private final class PendingResult<Value: Sendable>: @unchecked Sendable {
    private let semaphore: UnsafeMutablePointer<sem_t>
    private let value = Mutex<Value?>(nil)

    init() {
        unsafe semaphore = .allocate(capacity: 1)
        unsafe sem_init(semaphore, 0, 0)
    }

    deinit {
        unsafe sem_destroy(semaphore)
        unsafe semaphore.deallocate()
    }

    func set(_ newValue: Value) {
        value.withLock { $0 = newValue }
        unsafe sem_post(semaphore)
    }

    func wait() -> Value? {
        while unsafe sem_wait(semaphore) != 0 {}
        return value.withLock { $0 }
    }
}
