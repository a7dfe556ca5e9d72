internal import Glibc

/// Lets reads in side by side, and now and then one thing alone: moving the map, or opening the file
/// again. Whoever wants to be alone waits for a limited time, so that a picture kept open too long costs
/// an error and never a standstill.
@safe final class Gate: Sendable {
    /// Made for threads; it lives at one address until `deinit`.
    nonisolated(unsafe) private let lock: UnsafeMutablePointer<pthread_rwlock_t>

    init() {
        unsafe lock = .allocate(capacity: 1)
        precondition(unsafe pthread_rwlock_init(lock, nil) == 0, "a lock can be made")
    }

    deinit {
        unsafe pthread_rwlock_destroy(lock)
        unsafe lock.deallocate()
    }

    func enter() {
        precondition(unsafe pthread_rwlock_rdlock(lock) == 0, "reads within one thread are not unbounded")
    }

    func leave() { unsafe pthread_rwlock_unlock(lock) }

    /// False when the others did not leave in time; otherwise `leave()` opens the gate again.
    func close(withinMilliseconds limit: Int) -> Bool {
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
