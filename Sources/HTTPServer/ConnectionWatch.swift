internal import Lifecycle

/// Looks at all connections of a server now and then and ends what is overdue, on a thread of its
/// own: a slow peer must not depend on the thread that other peers keep busy.
///
/// `@unchecked Sendable`: the timer is touched on the loop only.
final class ConnectionWatch: @unchecked Sendable {
    private let loop: EventLoop
    private let core: HTTPServerCore
    private var timer: LoopTimer?

    init(_ core: HTTPServerCore) throws {
        self.core = core
        loop = try EventLoop(name: "http watch")
        try loop.start()
        loop.execute { self.begin() }
    }

    /// Returns when the thread has ended; the timer, which holds the watch, is gone then.
    func stop() {
        loop.execute {
            self.timer?.cancel()
            self.timer = nil
        }
        loop.stop()
    }

    private func begin() {
        timer = LoopTimer(on: loop) { self.run() }
        run()
    }

    private func run() {
        let now = Instant.now()
        core.checkDeadlines(now: now)
        timer?.schedule(at: now.advanced(byMilliseconds: core.limits.watchMilliseconds))
    }
}
