/// The limit of a wait that polls.
///
/// On a busy machine a poll itself may take seconds, and the processes that it watches run as slowly. So at most one
/// second counts between two polls. A wait then ends after a number of polls, and not after one late poll.
package struct PollingDeadline {
    private static let countedMax = Duration.seconds(1)

    private let limit: Duration
    private var left: Duration
    private var lastPoll = ContinuousClock.now

    package init(seconds: Double) {
        limit = .seconds(seconds)
        left = limit
    }

    /// Counts the time since the last poll. Returns true if the limit is reached.
    package mutating func hasPassed() -> Bool {
        let now = ContinuousClock.now
        left -= min(now - lastPoll, Self.countedMax)
        lastPoll = now
        return left <= .zero
    }

    /// Starts the limit again, because what the test waits for has made progress.
    package mutating func restart() { left = limit }
}
