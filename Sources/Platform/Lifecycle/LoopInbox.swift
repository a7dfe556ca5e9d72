internal import CLinux
internal import Glibc

/// A job that a loop has received and not started.
enum LoopJob {
    case closure(@Sendable () -> Void)
    case task(UnownedJob)
}

/// The entrance into an event loop from other threads: a bounded queue with one wake-up for all jobs that are
/// added before the loop reads it. It is the only shared state of a loop.
///
/// The `EventLoop` that made it owns it. `@unchecked Sendable`: Every mutable field is used under `mutex`
/// only.
@safe final class LoopInbox: @unchecked Sendable {
    let wakeup: Int32
    private let limit: Int
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let spaceAvailable: UnsafeMutablePointer<pthread_cond_t>
    private var jobs: [LoopJob] = []
    private var isSignalled = false
    private var isStopping = false
    private var isClosed = false

    init(limit: Int) throws(SystemError) {
        self.limit = limit
        wakeup = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        guard wakeup >= 0 else { throw SystemError(action: "create an event descriptor", code: errno) }
        unsafe mutex = .allocate(capacity: 1)
        unsafe spaceAvailable = .allocate(capacity: 1)
        unsafe pthread_mutex_init(mutex, nil)
        unsafe pthread_cond_init(spaceAvailable, nil)
    }

    deinit {
        unsafe pthread_cond_destroy(spaceAvailable)
        unsafe pthread_mutex_destroy(mutex)
        unsafe spaceAvailable.deallocate()
        unsafe mutex.deallocate()
        Glibc.close(wakeup)
    }

    /// Adds a job. Returns false if the loop has ended. At the limit the call waits if it may.
    func add(_ job: LoopJob, mayWait: Bool) -> Bool {
        unsafe pthread_mutex_lock(mutex)
        while mayWait, jobs.count >= limit, !isClosed { unsafe pthread_cond_wait(spaceAvailable, mutex) }
        let accepted = !isClosed
        if accepted { jobs.append(job) }
        let mustWake = accepted && !isSignalled
        if mustWake { isSignalled = true }
        unsafe pthread_mutex_unlock(mutex)
        if mustWake { wake() }
        return accepted
    }

    /// Moves all queued jobs to `spare`, which must be empty and becomes the next queue's storage. Returns
    /// true if the loop must stop.
    func take(into spare: inout [LoopJob]) -> Bool {
        unsafe pthread_mutex_lock(mutex)
        swap(&jobs, &spare)
        isSignalled = false
        if spare.count >= limit { unsafe pthread_cond_broadcast(spaceAvailable) }
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

    /// Closes the queue if it is empty, and returns whether it is closed. A closed queue accepts no jobs.
    func closeIfEmpty() -> Bool {
        unsafe pthread_mutex_lock(mutex)
        isClosed = jobs.isEmpty
        if isClosed { unsafe pthread_cond_broadcast(spaceAvailable) }
        let result = isClosed
        unsafe pthread_mutex_unlock(mutex)
        return result
    }

    /// Wakes the loop. The descriptor is watched edge-triggered and never read, so each write is one event.
    private func wake() {
        _ = eventfd_write(wakeup, 1)
    }
}
