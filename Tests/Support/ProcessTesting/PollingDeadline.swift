/// The limit of a wait that polls.
///
/// On a busy machine a poll itself may take seconds, and the processes that it watches run as slowly. So the time
/// between two polls is divided by the load, and at most one second of it counts.
package struct PollingDeadline {
    private static let countedIntervalMax = Duration.seconds(1)

    private let secondsMax: Double
    private var stopwatch = LoadStopwatch(countedIntervalMax: countedIntervalMax)

    package init(seconds: Double) { secondsMax = seconds }

    /// Counts the time since the last poll. Returns true if the limit is reached.
    package mutating func hasPassed() -> Bool {
        stopwatch.poll()
        return stopwatch.seconds >= secondsMax
    }

    /// Starts the limit again, because what the test waits for has made progress.
    package mutating func restart() {
        stopwatch = LoadStopwatch(countedIntervalMax: Self.countedIntervalMax)
    }
}
