internal import Lifecycle

/// The state that a stage's loop shares with the rest of its process: the request to stop, and the
/// readiness problems.
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
