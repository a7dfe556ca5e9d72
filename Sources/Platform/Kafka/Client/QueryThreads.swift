internal import Lifecycle

/// The threads of this process that wait for Kafka's answers, so that no loop does.
///
/// The library's questions block their caller until the answer or a limit. A thread ends when no question waits.
final class QueryThreads: Sendable {
    static let shared = QueryThreads()
    /// The questions that are out at a time. More questions wait in their order.
    static let threadsMax = 8

    private struct QueueState {
        var waiting: [@Sendable () -> Void] = []
        var threads = 0
    }

    private let state = TracedLock(QueueState())

    /// Runs `work` on one of the threads.
    func run(_ work: @escaping @Sendable () -> Void) {
        let mustStart = state.withLock { state in
            state.waiting.append(work)
            guard state.threads < Self.threadsMax else { return false }
            state.threads += 1
            return true
        }
        guard mustStart else { return }
        do {
            try WorkerThread(name: "kafka-questions") { self.runAll() }.detach()
        } catch {
            // Without a thread the caller does the work. It waits longer, and the answer still comes.
            runAll()
        }
    }

    private func runAll() {
        while let work = takeNext() { work() }
    }

    private func takeNext() -> (@Sendable () -> Void)? {
        state.withLock { state in
            if state.waiting.isEmpty {
                state.threads -= 1
                return nil
            }
            return state.waiting.removeFirst()
        }
    }
}
