internal import Lifecycle

/// What a stage's loop and the rest of its process tell each other.
package final class LoopState: Sendable {
    private struct State {
        var mustStop = false
        var obstacles = ["it is starting"]
    }

    private let state = TracedLock(State())

    package init() {}

    package var mustStop: Bool { state.withLock { $0.mustStop } }
    package func stop() { state.withLock { $0.mustStop = true } }

    package var obstacles: [String] { state.withLock { $0.obstacles } }
    package func setObstacles(_ obstacles: [String]) { state.withLock { $0.obstacles = obstacles } }
}
