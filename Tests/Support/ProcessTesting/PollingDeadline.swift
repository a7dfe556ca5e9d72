/// The limit of a wait that polls.
///
/// On a busy machine a poll itself may take seconds, and the processes that it watches run as slowly. So the time between
/// two polls is divided by the load, and at most one second of it counts.
package struct PollingDeadline {
    private static let countedIntervalMax = Duration.seconds(1)

    private let limit: Duration
    private var remaining: Duration
    private var lastPoll = ContinuousClock.now

    package init(seconds: Double) {
        limit = .seconds(seconds)
        remaining = limit
    }

    /// Counts the time since the last poll. Returns true if the limit is reached.
    package mutating func hasPassed() -> Bool {
        let now = ContinuousClock.now
        remaining -= min(now - lastPoll, Self.countedIntervalMax) / MachineLoad.runnablePerProcessor
        lastPoll = now
        return remaining <= .zero
    }

    /// Starts the limit again, because what the test waits for has made progress.
    package mutating func restart() { remaining = limit }
}
