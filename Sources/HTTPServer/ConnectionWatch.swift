internal import Lifecycle

/// The regular check of all connections' deadlines. It has its own thread, because the server's threads may
/// be busy with other peers.
final class ConnectionWatch: Sendable {
    private let rounds: LoopOwned<Rounds>

    init(_ core: HTTPServerCore) throws {
        rounds = try LoopOwned(thread: "http watch") { Rounds(core, on: $0.loop) }
    }

    func stop() { rounds.stop { $0.end() } }

    private final class Rounds {
        private let core: HTTPServerCore
        private var timer: LoopTimer?

        init(_ core: HTTPServerCore, on loop: EventLoop) {
            self.core = core
            timer = LoopTimer(on: loop) { [unowned self] in look() }
            look()
        }

        private func look() {
            let now = Instant.now()
            core.checkDeadlines(now: now)
            timer?.schedule(at: now.advanced(byMilliseconds: core.limits.watchMilliseconds))
        }

        func end() { timer?.cancel() }
    }
}
