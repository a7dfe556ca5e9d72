internal import Glibc

/// A loop as the executor of actors, and the loop of the current thread, for checks that code runs on its
/// loop.
///
/// C callbacks on the loop's thread can enter an actor of this executor without a lock or an await.
extension EventLoop: SerialExecutor {
    /// The thread-specific value that holds the thread's loop.
    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        let code = unsafe pthread_key_create(&key, nil)
        precondition(code == 0, "no thread-specific key left")
        return key
    }()

    /// The loop whose thread this is.
    package static var current: EventLoop? {
        guard let value = unsafe pthread_getspecific(key) else { return nil }
        // SAFETY: `setCurrent` set the value, and the thread retains the loop until `clearCurrent`.
        return unsafe Unmanaged<EventLoop>.fromOpaque(value).takeUnretainedValue()
    }

    static func setCurrent(_ loop: EventLoop) {
        unsafe pthread_setspecific(key, Unmanaged.passUnretained(loop).toOpaque())
    }

    static func clearCurrent() { pthread_setspecific(key, nil) }

    package var isOnLoop: Bool {
        unsafe pthread_getspecific(EventLoop.key) == Unmanaged.passUnretained(self).toOpaque()
    }

    package func preconditionOnLoop() {
        precondition(isOnLoop, "called off its event loop")
    }

    /// Enqueues a step of an actor's task. Traps if the loop has ended, because the task could never run: the
    /// actor must not outlive its loop.
    package func enqueue(_ job: consuming ExecutorJob) {
        let isAccepted = submit(.task(UnownedJob(job)))
        precondition(isAccepted, "an actor outlived its event loop")
    }

    package func checkIsolated() { preconditionOnLoop() }

    package func isIsolatingCurrentContext() -> Bool? { isOnLoop }

    package func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        unsafe UnownedSerialExecutor(ordinary: self)
    }
}
