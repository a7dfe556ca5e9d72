internal import CLinux
internal import Glibc

/// A signal for which one thread sleeps until another thread raises it. If it is raised first, the wait
/// returns at once.
@safe package final class ThreadSignal: Sendable {
    /// A semaphore may be shared between threads by `sem_post` and `sem_wait`.
    nonisolated(unsafe) private let semaphore: UnsafeMutablePointer<sem_t>

    package init() {
        unsafe semaphore = .allocate(capacity: 1)
        unsafe sem_init(semaphore, 0, 0)
    }

    deinit {
        unsafe sem_destroy(semaphore)
        unsafe semaphore.deallocate()
    }

    package func raise() { unsafe sem_post(semaphore) }

    package func wait() {
        while unsafe sem_wait(semaphore) != 0 && errno == EINTR {}
    }

    /// Waits until the deadline. Returns false if the signal was not raised.
    package func wait(until deadline: Instant) -> Bool {
        while true {
            let remainingMilliseconds = max(0, deadline.milliseconds(since: .now()))
            if unsafe linux_wait_semaphore(semaphore, Int64(remainingMilliseconds)) == 0 { return true }
            if errno != EINTR && Instant.now() >= deadline { return false }
        }
    }
}
