internal import Lifecycle

/// The state that a loop shares with the rest of its process: the request to stop, and the readiness problems. Any
/// thread may use it.
package final class LoopState: Sendable {
    private struct Values {
        var mustStop = false
        var readinessProblems = ["it is starting"]
    }

    private let state = TracedLock(Values())

    package init() {}

    package var mustStop: Bool { state.withLock { $0.mustStop } }
    package func requestStop() { state.withLock { $0.mustStop = true } }

    package var readinessProblems: [String] { state.withLock { $0.readinessProblems } }
    package func setReadinessProblems(_ problems: [String]) {
        state.withLock { $0.readinessProblems = problems }
    }
}
