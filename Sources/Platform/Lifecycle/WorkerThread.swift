internal import CLinux
internal import Glibc

/// A thread for work that blocks, such as a stage's loop, file syncs or compaction. It runs one function to
/// its end. Its creator must call `join` or `detach`.
package final class WorkerThread: Sendable {
    private final class ThreadBody {
        let name: String
        let priority: ThreadPriority
        let run: @Sendable () -> Void

        init(name: String, priority: ThreadPriority, run: @escaping @Sendable () -> Void) {
            self.name = name
            self.priority = priority
            self.run = run
        }
    }

    private let thread: pthread_t

    package init(
        name: String, priority: ThreadPriority = .normal, run: @escaping @Sendable () -> Void
    ) throws(SystemError) {
        let body = unsafe Unmanaged.passRetained(ThreadBody(name: name, priority: priority, run: run))
        var thread = pthread_t()
        let code = unsafe pthread_create(&thread, nil, { unsafe WorkerThread.begin($0) }, body.toOpaque())
        guard code == 0 else {
            unsafe body.release()
            throw SystemError(action: "start the thread \(name)", code: code)
        }
        self.thread = thread
    }

    /// Takes over the `ThreadBody` that `init` retained, and runs it.
    private static func begin(_ reference: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
        guard let reference = unsafe reference else { return nil }
        let body = unsafe Unmanaged<ThreadBody>.fromOpaque(reference).takeRetainedValue()
        linux_block_signals()
        unsafe linux_name_thread(String(body.name.prefix(15)))
        body.priority.applyToCurrentThread()
        body.run()
        return nil
    }

    /// Waits until the function has returned.
    package func join() { pthread_join(thread, nil) }

    /// Lets the thread end by itself. `join` must not be called then.
    package func detach() { pthread_detach(thread) }
}
