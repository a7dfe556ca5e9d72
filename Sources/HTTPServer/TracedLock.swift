internal import Glibc

/// A lock around a value, that tools can follow. `Mutex` sleeps inside the runtime library, where
/// ThreadSanitizer sees nothing: two threads that meet there look like a race. Ours meet often, because
/// cutting a connection wakes its thread.
///
/// `@unchecked Sendable`: the state is touched with the lock held only.
@safe final class TracedLock<State>: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private var state: State

    init(_ state: State) {
        self.state = state
        unsafe mutex = .allocate(capacity: 1)
        unsafe mutex.initialize(to: pthread_mutex_t())
        unsafe pthread_mutex_init(mutex, nil)
    }

    deinit {
        unsafe pthread_mutex_destroy(mutex)
        unsafe mutex.deallocate()
    }

    func withLock<R>(_ body: (inout State) -> R) -> R {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return body(&state)
    }
}
