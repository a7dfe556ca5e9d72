internal import Lifecycle
internal import Synchronization

/// Looks at all connections of a server now and then and ends what is overdue, on a thread of its
/// own: a slow peer must not depend on the thread that other peers keep busy.
final class ConnectionWatch: Sendable {
    private let loop: EventLoop

    init(_ core: HTTPServerCore) throws {
        loop = try EventLoop(name: "http watch")
        try loop.start()
        loop.execute { [loop, weak core] in Turn(loop, core).begin() }
    }

    func stop() { loop.stop() }

    /// Lives on the loop.
    private final class Turn {
        private let loop: EventLoop
        private weak var core: HTTPServerCore?
        private var timer: LoopTimer?

        init(_ loop: EventLoop, _ core: HTTPServerCore?) {
            self.loop = loop
            self.core = core
        }

        func begin() {
            // The timer keeps the turn until the loop has stopped and forgets it.
            timer = LoopTimer(on: loop) { self.run() }
            run()
        }

        private func run() {
            guard let core else { return }
            let now = Instant.now()
            core.checkDeadlines(now: now)
            timer?.schedule(at: now.advanced(byMilliseconds: core.limits.watchMilliseconds))
        }
    }
}
