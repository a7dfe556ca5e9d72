internal import Glibc

/// Which loop a thread belongs to, so that state confined to a loop can be checked, and so that an
/// actor can live on a loop: C callbacks on its thread then enter the actor without a lock or an await.
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
        // SAFETY: set by `enter` for as long as the thread's own `run` holds the loop.
        return unsafe Unmanaged<EventLoop>.fromOpaque(value).takeUnretainedValue()
    }

    static func enter(_ loop: EventLoop) {
        unsafe pthread_setspecific(key, Unmanaged.passUnretained(loop).toOpaque())
    }

    static func leave() {
        pthread_setspecific(key, nil)
    }

    package var isOnLoop: Bool {
        unsafe pthread_getspecific(EventLoop.key) == Unmanaged.passUnretained(self).toOpaque()
    }

    package func preconditionOnLoop() {
        precondition(isOnLoop, "called off its event loop")
    }

    /// An actor outlives its loop only by mistake: its task could never go on, and says so here.
    package func enqueue(_ job: consuming ExecutorJob) {
        let accepted = put(.task(UnownedJob(job)))
        precondition(accepted, "a task of an actor that is pinned to a stopped event loop")
    }

    package func checkIsolated() { preconditionOnLoop() }

    package func isIsolatingCurrentContext() -> Bool? { isOnLoop }

    package func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        unsafe UnownedSerialExecutor(ordinary: self)
    }
}
