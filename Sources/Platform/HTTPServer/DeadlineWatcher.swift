internal import Lifecycle

/// The regular check of all connections' deadlines. It runs on its own thread, because the server's threads may
/// be busy with other peers. All servers of a process share this thread.
final class DeadlineWatcher: Sendable {
    private static let loop = Result { () throws in
        let loop = try EventLoop(name: "http watch")
        try loop.start()
        return loop
    }

    private let deadlineCheck: LoopOwned<DeadlineCheck>

    init(state core: HTTPServerState) throws {
        deadlineCheck = LoopOwned(on: try Self.loop.get()) { DeadlineCheck(state: core, on: $0.loop) }
    }

    func stop() { _ = deadlineCheck.perform { $0.end() } }

    private final class DeadlineCheck {
        private var state: HTTPServerState?
        private var timer: LoopTimer?

        init(state core: HTTPServerState, on loop: EventLoop) {
            self.state = core
            timer = LoopTimer(on: loop) { [unowned self] in checkAndReschedule() }
            checkAndReschedule()
        }

        private func checkAndReschedule() {
            guard let state else { return }
            let now = Instant.now()
            state.checkDeadlines(now: now)
            timer?.schedule(at: now.advanced(byMilliseconds: state.limits.watchMilliseconds))
        }

        /// Ends the checks. The thread continues for other servers.
        func end() {
            timer?.cancel()
            timer = nil
            state = nil
        }
    }
}
