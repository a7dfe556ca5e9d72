internal import Glibc

/// The lock of writers: LMDB allows one write at a time. A write within a write would wait for itself, so it
/// traps.
@safe final class WriteLock: Sendable {
    /// A pthread mutex must keep one address until `deinit`.
    nonisolated(unsafe) private let mutex: UnsafeMutablePointer<pthread_mutex_t>

    init() {
        unsafe mutex = .allocate(capacity: 1)
        var attributes = pthread_mutexattr_t()
        unsafe pthread_mutexattr_init(&attributes)
        unsafe pthread_mutexattr_settype(&attributes, Int32(PTHREAD_MUTEX_ERRORCHECK))
        let code = unsafe pthread_mutex_init(mutex, &attributes)
        precondition(code == 0, "pthread_mutex_init failed")
        unsafe pthread_mutexattr_destroy(&attributes)
    }

    deinit {
        unsafe pthread_mutex_destroy(mutex)
        unsafe mutex.deallocate()
    }

    func lock() {
        let code = unsafe pthread_mutex_lock(mutex)
        precondition(code == 0, "a write began within a write")
    }

    /// Returns false if a thread holds the lock.
    func tryLock() -> Bool { unsafe pthread_mutex_trylock(mutex) == 0 }

    func unlock() { unsafe pthread_mutex_unlock(mutex) }
}
