/// A thread that enforces the deadline of an orderly stop. A task could not: a service that blocks while it
/// stops can hold up all tasks of the process.
final class DrainWatchdog: Sendable {
    private let stopEnded = ThreadSignal()
    /// The name of the service that is stopping now.
    private let stoppingService = TracedLock("")
    private let thread: WorkerThread?

    /// - Parameter onOverrun: Called on the watchdog's thread at the deadline, with the name of the service that is
    ///   stopping then. Not called if `end` comes first.
    init(deadline: Instant, onOverrun: @escaping @Sendable (String) -> Void) {
        // Without memory for a thread, the stop continues without a watchdog.
        thread = try? WorkerThread(name: "drain") { [stopEnded, stoppingService] in
            if !stopEnded.wait(until: deadline) { onOverrun(stoppingService.withLock { $0 }) }
        }
    }

    /// Notes that this service begins to stop.
    func watch(service name: String) { stoppingService.withLock { $0 = name } }

    /// Ends the thread. The stop is complete.
    func end() {
        stopEnded.raise()
        thread?.join()
    }
}
