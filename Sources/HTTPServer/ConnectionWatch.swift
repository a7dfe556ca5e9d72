internal import Lifecycle

/// Looks at all connections of a server now and then and ends what is overdue, on a thread of its
/// own: a slow peer must not depend on the thread that other peers keep busy.
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
