internal import Glibc
internal import Lifecycle

/// A trigger that kills or stops this process when its stage reaches a step. A kill test chooses the step with the
/// arguments of the worker process (`StageWorkerOptions`).
final class StepKillTrigger: Sendable {
    private struct Countdown {
        /// The number of times that the stage still has to reach the fatal step.
        var timesLeft: Int
        /// The step that the stage must reach before the times count, or nil if they count now.
        var awaitedStep: Int?
    }

    /// The step at which the signal is sent, or nil for never.
    private let fatalStep: Int?
    private let signal: Int32
    private let countdown: TracedLock<Countdown>

    init(options: StageWorkerOptions) {
        fatalStep = options.killAtStep
        signal = options.stopsInsteadOfKilling ? SIGSTOP : SIGKILL
        countdown = TracedLock(Countdown(timesLeft: options.occurrence, awaitedStep: options.afterStep))
    }

    /// Called by the stage at each of its steps, on any of its threads.
    func didReach(step: Int) {
        let isLastTime = countdown.withLock { countdown in
            if step == countdown.awaitedStep { countdown.awaitedStep = nil }
            guard step == fatalStep, countdown.awaitedStep == nil else { return false }
            countdown.timesLeft -= 1
            return countdown.timesLeft == 0
        }
        if isLastTime { kill(getpid(), signal) }
    }
}
