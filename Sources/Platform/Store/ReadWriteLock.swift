internal import Glibc

/// A lock for many concurrent reads or one exclusive action: moving the map, or closing and opening the file.
/// The exclusive action waits for a limited time. So a snapshot that stays open too long causes an error and
/// never a standstill.
@safe final class ReadWriteLock: Sendable {
    /// A pthread lock must keep one address until `deinit`.
    nonisolated(unsafe) private let lock: UnsafeMutablePointer<pthread_rwlock_t>

    init() {
        unsafe lock = .allocate(capacity: 1)
        let code = unsafe pthread_rwlock_init(lock, nil)
        precondition(code == 0, "pthread_rwlock_init failed")
    }

    deinit {
        unsafe pthread_rwlock_destroy(lock)
        unsafe lock.deallocate()
    }

    func lockForReading() {
        let code = unsafe pthread_rwlock_rdlock(lock)
        precondition(code == 0, "too many nested reads")
    }

    func unlock() { unsafe pthread_rwlock_unlock(lock) }

    /// Returns false if the readers did not unlock in time. After true, `unlock` must follow.
    func lockExclusively(withinMilliseconds limit: Int) -> Bool {
        // pthread expects a time of the wall clock.
        var deadline = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &deadline)
        deadline.tv_sec += limit / 1000
        deadline.tv_nsec += limit % 1000 * 1_000_000
        if deadline.tv_nsec >= 1_000_000_000 {
            deadline.tv_sec += 1
            deadline.tv_nsec -= 1_000_000_000
        }
        return unsafe pthread_rwlock_timedwrlock(lock, &deadline) == 0
    }
}
