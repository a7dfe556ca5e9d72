/// A value that one event loop owns. It is created and used on the loop, and released when the loop has
/// ended. Other threads hold this object instead and pass jobs to it.
///
/// `@unchecked Sendable`: The value is used by jobs on the loop only, or after its thread has ended.
package final class LoopOwned<Value>: @unchecked Sendable {
    package let loop: EventLoop
    private var value: Value?

    /// Starts a thread with this name and creates the value on it. Blocks until the value exists. If `make`
    /// fails, the thread is stopped.
    ///
    /// - Parameter make: Receives this object, for callbacks from other threads.
    package init(thread name: String, make: @escaping @Sendable (LoopOwned) throws -> Value) throws {
        loop = try EventLoop(name: name)
        try loop.start { self.value = try make(self) }
    }

    /// Creates the value on a running loop that another owner ends.
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
        return owned
    }

    /// - Returns: False, without running the job, if the loop has ended.
    @discardableResult
    package func execute(_ job: @escaping @Sendable (Value) -> Void) -> Bool {
        loop.execute { job(self.owned) }
    }

    /// Waits for a job's result, or returns nil if the loop has ended. It blocks its thread and must not be
    /// called on a loop's thread.
    package func perform<Result: Sendable>(_ job: @escaping @Sendable (Value) -> Result) -> Result? {
        loop.perform { job(self.owned) }
    }

    /// Runs the queued jobs and then `last`, ends the thread, and releases the value.
    package func stop(finally last: @escaping @Sendable (Value) -> Void = { _ in }) {
        _ = loop.perform { last(self.owned) }
        loop.stop()
        value = nil
    }

    /// Stops in the same way, for callers that must not block their thread.
    package func stop(finally last: @escaping @Sendable (Value) -> Void) async {
        await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
            let isTaken = execute {
                last($0)
                done.resume()
            }
            if !isTaken { done.resume() }
        }
        loop.stop()
        value = nil
    }

    /// The value. Every job runs after the job that created it and before the end of the thread.
    private var owned: Value {
        guard let value else { preconditionFailure("event loop \(loop.name) does not own the value") }
        return value
    }
}
