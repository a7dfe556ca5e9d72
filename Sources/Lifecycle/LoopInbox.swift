internal import CLinux
internal import Glibc

/// Work that a loop has been given and has not begun.
enum LoopJob {
    case closure(@Sendable () -> Void)
    case task(UnownedJob)
}

/// The way into an event loop from other threads: a bounded queue and one wake-up for all that is
/// put before the loop looks. The only state of a loop that is shared.
///
/// Owned and pinned by the `EventLoop` that made it; `@unchecked Sendable` because every mutable
/// field is read and written under `mutex`.
@safe final class LoopInbox: @unchecked Sendable {
    let wakeup: Int32
    private let limit: Int
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let room: UnsafeMutablePointer<pthread_cond_t>
    private var jobs: [LoopJob] = []
    private var isSignalled = false
    private var isStopping = false
    private var isClosed = false

    init(limit: Int) throws(SystemError) {
        self.limit = limit
        wakeup = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        guard wakeup >= 0 else { throw SystemError("create an event descriptor", code: errno) }
        unsafe mutex = .allocate(capacity: 1)
        unsafe room = .allocate(capacity: 1)
        unsafe pthread_mutex_init(mutex, nil)
        unsafe pthread_cond_init(room, nil)
    }

    deinit {
        unsafe pthread_cond_destroy(room)
        unsafe pthread_mutex_destroy(mutex)
        unsafe room.deallocate()
        unsafe mutex.deallocate()
        Glibc.close(wakeup)
    }

    /// False when the loop has ended. At the limit a caller that may wait does.
    func put(_ job: LoopJob, mayWait: Bool) -> Bool {
        unsafe pthread_mutex_lock(mutex)
        while mayWait, jobs.count >= limit, !isClosed { unsafe pthread_cond_wait(room, mutex) }
        let accepted = !isClosed
        if accepted { jobs.append(job) }
        let mustWake = accepted && !isSignalled
        if mustWake { isSignalled = true }
        unsafe pthread_mutex_unlock(mutex)
        if mustWake { wake() }
        return accepted
    }

    /// Hands over everything queued; `spare` must be empty and becomes the next queue's storage.
    /// True when the loop is asked to stop.
    func take(into spare: inout [LoopJob]) -> Bool {
        unsafe pthread_mutex_lock(mutex)
        swap(&jobs, &spare)
        isSignalled = false
        if spare.count >= limit { unsafe pthread_cond_broadcast(room) }
        let stops = isStopping
        unsafe pthread_mutex_unlock(mutex)
        return stops
    }

    func stop() {
        unsafe pthread_mutex_lock(mutex)
        isStopping = true
        unsafe pthread_mutex_unlock(mutex)
        wake()
    }

    /// True when nothing is queued: from then on nothing is accepted.
    func closeIfEmpty() -> Bool {
        unsafe pthread_mutex_lock(mutex)
        isClosed = jobs.isEmpty
        if isClosed { unsafe pthread_cond_broadcast(room) }
        let result = isClosed
        unsafe pthread_mutex_unlock(mutex)
        return result
    }

    /// The descriptor is watched edge-triggered and never read: each write is one event.
    private func wake() {
        _ = eventfd_write(wakeup, 1)
    }
}
