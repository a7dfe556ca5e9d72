internal import Lifecycle

/// The threads of this process that wait for the results of queries, so that no loop does.
///
/// The library's query calls block until the answer or a limit. A thread ends when no query waits.
final class QueryThreads: Sendable {
    static let shared = QueryThreads()
    /// The largest number of calls that run at a time: eight queries of three leaders each. More calls wait in their
    /// order, and the deadline of their query passes meanwhile.
    static let threadsMax = 24

    private struct QueueState {
        var waiting: [@Sendable () -> Void] = []
        var threadCount = 0
    }

    private let state = TracedLock(QueueState())

    /// Runs `work` on one of the threads.
    func run(_ work: @escaping @Sendable () -> Void) {
        let mustStart = state.withLock { state in
            state.waiting.append(work)
            guard state.threadCount < Self.threadsMax else { return false }
            state.threadCount += 1
            return true
        }
        guard mustStart else { return }
        do {
            try WorkerThread(name: "kafka-questions") { self.runAll() }.detach()
        } catch {
            // Without a thread the caller does the work. It waits longer, and the result still comes.
            runAll()
        }
    }

    private func runAll() {
        while let work = takeNext() { work() }
    }

    /// Returns the next work, or nil for a thread that must end.
    private func takeNext() -> (@Sendable () -> Void)? {
        state.withLock { state in
            if state.waiting.isEmpty {
                state.threadCount -= 1
                return nil
            }
            return state.waiting.removeFirst()
        }
    }
}
