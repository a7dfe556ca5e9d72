internal import CLinux
internal import Glibc

/// A job that waits for its event loop.
enum LoopJob {
    case closure(@Sendable () -> Void)
    /// A step of a task of an actor that runs on the loop.
    case task(UnownedJob)
}

/// A bounded queue of jobs from other threads for one event loop. It wakes the loop once for all jobs that
/// are added before the loop takes them. It is the only state that a loop shares with other threads.
///
/// `@unchecked Sendable`: Every mutable field is used under `mutex` only.
@safe final class LoopInbox: @unchecked Sendable {
    /// The eventfd that wakes the loop.
    let wakeupDescriptor: Int32
    private let jobsMax: Int
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let spaceAvailable: UnsafeMutablePointer<pthread_cond_t>
    private var jobs: [LoopJob] = []
    /// Whether the loop was woken and has not taken the jobs yet.
    private var isSignalled = false
    /// Whether the loop must stop. Jobs are accepted until the queue is closed.
    private var isStopping = false
    private var isClosed = false

    init(limit jobsMax: Int) throws(SystemError) {
        self.jobsMax = jobsMax
        wakeupDescriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        guard wakeupDescriptor >= 0 else {
            throw SystemError(action: "create an event descriptor", code: errno)
        }
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
        Glibc.close(wakeupDescriptor)
    }

    /// Adds a job. Returns false if the loop has ended. At the limit the call waits for space if `mayWait`,
    /// and exceeds the limit otherwise.
    func add(_ job: LoopJob, mayWait: Bool) -> Bool {
        unsafe pthread_mutex_lock(mutex)
        while mayWait, jobs.count >= jobsMax, !isClosed { unsafe pthread_cond_wait(spaceAvailable, mutex) }
        let isAccepted = !isClosed
        if isAccepted { jobs.append(job) }
        let mustWake = isAccepted && !isSignalled
        if mustWake { isSignalled = true }
        unsafe pthread_mutex_unlock(mutex)
        if mustWake { wake() }
        return isAccepted
    }

    /// Exchanges the queue with `spare`, which must be empty. So `spare` has all jobs, and its memory serves
    /// the next ones. Returns true if the loop must stop.
    func take(into spare: inout [LoopJob]) -> Bool {
        unsafe pthread_mutex_lock(mutex)
        swap(&jobs, &spare)
        isSignalled = false
        if spare.count >= jobsMax { unsafe pthread_cond_broadcast(spaceAvailable) }
        let mustStop = isStopping
        unsafe pthread_mutex_unlock(mutex)
        return mustStop
    }

    /// Tells the loop to stop, and wakes it.
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
    private func wake() { _ = eventfd_write(wakeupDescriptor, 1) }
}
