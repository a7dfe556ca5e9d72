/// The watchdog of an orderly stop, on its own thread. A service that blocks while it stops can hold up every
/// task of the process. The limit must be kept even then.
final class DrainWatchdog: Sendable {
    private let hasEnded = ThreadSignal()
    private let service = TracedLock("")
    private let thread: WorkerThread?

    /// - Parameter onOverrun: Receives the service that was stopping at the deadline, on the watchdog's
    ///   thread.
    init(deadline: Instant, onOverrun: @escaping @Sendable (String) -> Void) {
        // Without memory for a thread the stop continues unwatched.
        thread = try? WorkerThread(name: "drain") { [hasEnded, service] in
            if !hasEnded.wait(until: deadline) { onOverrun(service.withLock { $0 }) }
        }
    }

    /// Sets the service that is stopping now.
    func watch(service name: String) { service.withLock { $0 = name } }

    func end() {
        hasEnded.raise()
        thread?.join()
    }
}
