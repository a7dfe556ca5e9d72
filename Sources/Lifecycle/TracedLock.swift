internal import CLinux
internal import Glibc

/// A lock around a value, that tools can follow. The library's `Mutex` sleeps where ThreadSanitizer sees
/// nothing, and two threads that meet there look like a race; where threads meet often, this one is used.
///
/// `@unchecked Sendable`: the value is touched with the lock held only.
@safe package final class TracedLock<Value>: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private var value: Value

    package init(_ value: Value) {
        self.value = value
        unsafe mutex = .allocate(capacity: 1)
        unsafe mutex.initialize(to: pthread_mutex_t())
        unsafe pthread_mutex_init(mutex, nil)
    }

    deinit {
        unsafe pthread_mutex_destroy(mutex)
        unsafe mutex.deallocate()
    }

    package func withLock<Result>(_ body: (inout Value) -> Result) -> Result {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return body(&value)
    }
}
