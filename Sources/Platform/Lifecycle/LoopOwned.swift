/// A handle to a value that belongs to one event loop. The value is created and used on the loop only, so it
/// needs no locks. Any thread may hold the handle and give it jobs for the value.
///
/// Timers and callbacks on the loop may refer to the value without retaining it. So if the handle starts a thread, the
/// thread retains the handle until `stop`, even if all other owners release it.
///
/// `@unchecked Sendable`: Only jobs on the loop use the value. `stop` releases it after the thread has ended.
package final class LoopOwned<Value>: @unchecked Sendable {
    package let loop: EventLoop
    private var value: Value?

    /// Starts a thread with this name and creates the value on it. Blocks until the value exists. If `make`
    /// fails, the thread is stopped.
    ///
    /// - Parameter make: Receives this object, for callbacks from other threads.
    package init(
        thread name: String, priority: ThreadPriority = .normal,
        make: @escaping @Sendable (LoopOwned) throws -> Value
    ) throws {
        loop = try EventLoop(name: name, priority: priority)
        try loop.start {
            self.value = try make(self)
            self.loop.retainUntilEnd(self)
        }
    }

    /// Creates the value on a running loop, and does not wait for it. This object or another owner stops the loop.
    package init(on loop: EventLoop, make: @escaping @Sendable (LoopOwned) -> Value) {
        self.loop = loop
        loop.execute { self.value = make(self) }
    }

    /// Wraps a value that already belongs to the loop. It must be called on that loop.
    package init(_ value: Value, on loop: EventLoop) {
        loop.preconditionOnLoop()
        self.loop = loop
        self.value = value
    }

    /// The value, for callbacks on the loop.
    package var valueOnLoop: Value {
        loop.preconditionOnLoop()
        return ownedValue
    }

    /// Runs a job on the loop. Returns false, without running the job, if the loop has ended.
    @discardableResult
    package func execute(_ job: @escaping @Sendable (Value) -> Void) -> Bool {
        loop.execute { job(self.ownedValue) }
    }

    /// Runs a job on the loop and waits for its result. Returns nil if the loop has ended. It blocks the
    /// calling thread and must not be called on a loop's thread.
    package func perform<Result: Sendable>(_ job: @escaping @Sendable (Value) -> Result) -> Result? {
        loop.perform { job(self.ownedValue) }
    }

    /// Runs the queued jobs and then `lastJob`, ends the thread, and releases the value. Blocks until then.
    package func stop(finally lastJob: @escaping @Sendable (Value) -> Void = { _ in }) {
        _ = loop.perform { lastJob(self.ownedValue) }
        loop.stop()
        value = nil
    }

    /// Stops like the function above, but does not block the caller's thread while the jobs run.
    package func stop(finally lastJob: @escaping @Sendable (Value) -> Void) async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let isAccepted = execute {
                lastJob($0)
                continuation.resume()
            }
            if !isAccepted { continuation.resume() }
        }
        loop.stop()
        value = nil
    }

    /// The value, which exists in every job: jobs run after the job that created it, and before the thread
    /// ends.
    private var ownedValue: Value {
        guard let value else { preconditionFailure("event loop \(loop.name) does not own the value") }
        return value
    }
}
