internal import Lifecycle

/// The regular check of all connections' deadlines. It runs on its own thread, because the server's threads may
/// be busy with other peers. All servers of a process share this thread.
final class ConnectionWatch: Sendable {
    private static let loop = Result { () throws in
        let loop = try EventLoop(name: "http watch")
        try loop.start()
        return loop
    }

    private let rounds: LoopOwned<Rounds>

    init(_ core: HTTPServerCore) throws {
        rounds = LoopOwned(on: try Self.loop.get()) { Rounds(core, on: $0.loop) }
    }

    func stop() { _ = rounds.perform { $0.end() } }

    private final class Rounds {
        private var core: HTTPServerCore?
        private var timer: LoopTimer?

        init(_ core: HTTPServerCore, on loop: EventLoop) {
            self.core = core
            timer = LoopTimer(on: loop) { [unowned self] in look() }
            look()
        }

        private func look() {
            guard let core else { return }
            let now = Instant.now()
            core.checkDeadlines(now: now)
            timer?.schedule(at: now.advanced(byMilliseconds: core.limits.watchMilliseconds))
        }

        /// Ends the checks. The thread continues for other servers.
        func end() {
            timer?.cancel()
            timer = nil
            core = nil
        }
    }
}
