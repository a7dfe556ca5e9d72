/// What one event loop alone owns: it is made on the loop, touched on the loop, and given up when the loop has ended.
/// Others hold this in its place, and hand jobs in.
///
/// `@unchecked Sendable`: what is owned is reached from jobs on the loop only, or when its thread has ended.
package final class LoopOwned<Value>: @unchecked Sendable {
    package let loop: EventLoop
    private var value: Value?

    /// Starts a thread with this name, and lets it make what it owns. Blocks until that is made; where it fails,
    /// nothing is left running.
    ///
    /// - Parameter make: told of its owner, for callbacks that come from other threads.
    package init(thread name: String, _ make: @escaping @Sendable (LoopOwned) throws -> Value) throws {
        loop = try EventLoop(name: name)
        try loop.start { self.value = try make(self) }
    }

    /// The same on a loop that runs already and that somebody else ends.
    package init(on loop: EventLoop, _ make: @escaping @Sendable (LoopOwned) -> Value) {
        self.loop = loop
        loop.execute { self.value = make(self) }
    }

    /// For what lives on a loop already. On that loop.
    package init(_ value: Value, on loop: EventLoop) {
        loop.preconditionOnLoop()
        self.loop = loop
        self.value = value
    }

    /// For callbacks that come on the loop.
    package var onLoop: Value {
        loop.preconditionOnLoop()
        return owned
    }

    /// - Returns: false, and the job is dropped unrun, when the loop has ended.
    @discardableResult
    package func execute(_ job: @escaping @Sendable (Value) -> Void) -> Bool {
        loop.execute { job(self.owned) }
    }

    /// Waits for a job's result; nil when the loop has ended. It blocks its thread, and is a fault on a loop's.
    package func perform<Result: Sendable>(_ job: @escaping @Sendable (Value) -> Result) -> Result? {
        loop.perform { job(self.owned) }
    }

    /// Lets the loop do what was queued before and then this, ends its thread, and gives up what it owned.
    package func stop(_ last: @escaping @Sendable (Value) -> Void = { _ in }) {
        _ = loop.perform { last(self.owned) }
        loop.stop()
        value = nil
    }

    /// The same for who must not block its thread meanwhile.
    package func stop(_ last: @escaping @Sendable (Value) -> Void) async {
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

    /// Jobs come after the one that made it, and before the end of the thread.
    private var owned: Value {
        guard let value else { preconditionFailure("\(loop.name) has been asked for what it does not own") }
        return value
    }
}
