internal import Lifecycle

/// A timer that checks the deadlines of a server's connections. It runs on a separate thread, because the
/// server's threads may be busy with other peers. All servers of a process share that thread.
final class DeadlineWatcher: Sendable {
    private static let loop = Result { () throws in
        let loop = try EventLoop(name: "http watch")
        try loop.start()
        return loop
    }

    private let deadlineCheck: LoopOwned<DeadlineCheck>

    init(state: HTTPServerState) throws {
        deadlineCheck = LoopOwned(on: try Self.loop.get()) { DeadlineCheck(state: state, on: $0.loop) }
    }

    /// Waits until no check runs, and ends the checks of this server.
    func stop() { _ = deadlineCheck.perform { $0.end() } }

    private final class DeadlineCheck {
        /// Nil after the end.
        private var state: HTTPServerState?
        private var timer: LoopTimer?

        init(state: HTTPServerState, on loop: EventLoop) {
            self.state = state
            timer = LoopTimer(on: loop) { [unowned self] in checkAndReschedule() }
            checkAndReschedule()
        }

        private func checkAndReschedule() {
            guard let state else { return }
            let now = Instant.now()
            state.checkDeadlines(now: now)
            timer?.schedule(at: now.advanced(byMilliseconds: state.limits.watchMilliseconds))
        }

        func end() {
            timer?.cancel()
            timer = nil
            state = nil
        }
    }
}
