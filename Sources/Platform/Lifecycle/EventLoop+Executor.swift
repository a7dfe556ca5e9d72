internal import Glibc

/// The loop of each thread. With it, code can check that loop-confined state is used on its loop. An actor
/// can also run on a loop. C callbacks on the loop's thread then enter the actor without a lock or an await.
extension EventLoop: SerialExecutor {
    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        let code = unsafe pthread_key_create(&key, nil)
        precondition(code == 0, "no thread-specific key left")
        return key
    }()

    /// The loop whose thread this is.
    package static var current: EventLoop? {
        guard let value = unsafe pthread_getspecific(key) else { return nil }
        // SAFETY: `enter` set the value, and the thread's `run` retains the loop for that time.
        return unsafe Unmanaged<EventLoop>.fromOpaque(value).takeUnretainedValue()
    }

    static func setCurrent(_ loop: EventLoop) {
        unsafe pthread_setspecific(key, Unmanaged.passUnretained(loop).toOpaque())
    }

    static func clearCurrent() {
        pthread_setspecific(key, nil)
    }

    package var isOnLoop: Bool {
        unsafe pthread_getspecific(EventLoop.key) == Unmanaged.passUnretained(self).toOpaque()
    }

    package func preconditionOnLoop() {
        precondition(isOnLoop, "called off its event loop")
    }

    /// Enqueues a task of an actor. An actor that outlives its loop is a programming error, because its tasks
    /// can never run. It traps here.
    package func enqueue(_ job: consuming ExecutorJob) {
        let accepted = submit(.task(UnownedJob(job)))
        precondition(accepted, "an actor outlived its event loop")
    }

    package func checkIsolated() { preconditionOnLoop() }

    package func isIsolatingCurrentContext() -> Bool? { isOnLoop }

    package func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        unsafe UnownedSerialExecutor(ordinary: self)
    }
}
