/// Watches over an orderly stop, on a thread of its own: a service that blocks while it stops can hold up
/// every task of the process, and the limit must be kept all the same.
final class DrainWatchdog: Sendable {
    private let hasEnded = WakeSignal()
    private let service = TracedLock("")
    private let thread: WorkerThread?

    /// - Parameter onOverrun: told which service was stopping at the deadline, on the watchdog's thread.
    init(deadline: Instant, onOverrun: @escaping @Sendable (String) -> Void) {
        // Without memory for a thread the stop goes on, and nobody watches it.
        thread = try? WorkerThread(name: "drain") { [hasEnded, service] in
            if !hasEnded.wait(until: deadline) { onOverrun(service.withLock { $0 }) }
        }
    }

    /// This one is stopping now.
    func watch(_ name: String) { service.withLock { $0 = name } }

    func end() {
        hasEnded.raise()
        thread?.join()
    }
}
