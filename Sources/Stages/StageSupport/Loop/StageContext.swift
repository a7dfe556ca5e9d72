package import Telemetry

/// The values that a loop receives at its start, from its process and from a test.
package struct StageContext<Step: StageStep> {
    package let state: LoopState
    package let log: Log
    package let metrics: Metrics
    package let time: StageTime
    /// Called at every step, on the loop's thread. A test can end the process there.
    package let onStep: (Step) -> Void

    package init(
        state: LoopState, log: Log, metrics: Metrics, time: StageTime = StageTime(),
        onStep: @escaping (Step) -> Void
    ) {
        self.state = state
        self.log = log
        self.metrics = metrics
        self.time = time
        self.onStep = onStep
    }
}
