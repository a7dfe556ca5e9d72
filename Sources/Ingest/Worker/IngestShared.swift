internal import Lifecycle

/// What the loop and the rest of the process tell each other.
final class IngestShared: Sendable {
    private struct State {
        var mustStop = false
        var obstacles = ["it is starting"]
    }

    private let state = TracedLock(State())

    var mustStop: Bool { state.withLock { $0.mustStop } }
    func stop() { state.withLock { $0.mustStop = true } }

    var obstacles: [String] { state.withLock { $0.obstacles } }
    func setObstacles(_ obstacles: [String]) { state.withLock { $0.obstacles = obstacles } }
}
