internal import Glibc

/// A gate for many concurrent reads or one exclusive action: moving the map or reopening the file. The
/// exclusive action waits for a limited time. So a snapshot that stays open too long causes an error and
/// never a standstill.
@safe final class ReadWriteLock: Sendable {
    /// A pthread lock must keep one address until `deinit`.
    nonisolated(unsafe) private let lock: UnsafeMutablePointer<pthread_rwlock_t>

    init() {
        unsafe lock = .allocate(capacity: 1)
        precondition(unsafe pthread_rwlock_init(lock, nil) == 0, "pthread_rwlock_init failed")
    }

    deinit {
        unsafe pthread_rwlock_destroy(lock)
        unsafe lock.deallocate()
    }

    func lockForReading() {
        precondition(unsafe pthread_rwlock_rdlock(lock) == 0, "too many nested reads")
    }

    func unlock() { unsafe pthread_rwlock_unlock(lock) }

    /// Closes the gate. Returns false if the readers did not leave in time. After true, `leave()` opens the
    /// gate again.
    func lockExclusively(withinMilliseconds limit: Int) -> Bool {
        var until = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &until)
        until.tv_sec += limit / 1000
        until.tv_nsec += limit % 1000 * 1_000_000
        if until.tv_nsec >= 1_000_000_000 {
            until.tv_sec += 1
            until.tv_nsec -= 1_000_000_000
        }
        return unsafe pthread_rwlock_timedwrlock(lock, &until) == 0
    }
}
