/// The pause before a loop takes the next step of starting over. It doubles with each failure, up to a maximum. All
/// partitions of the loop wait for its end, so it begins short.
package struct StartOverPause {
    /// The reason why the last step did not succeed.
    package enum Cause: Sendable {
        /// Work was decided, and its transaction was not committed.
        case failedWork
        /// Kafka did not answer a query, because a coordinator or a leader is away. An attempt costs only a few queries,
        /// and the loop must go on as soon as there is an answer.
        case noAnswer

        fileprivate var millisecondsMax: Int {
            switch self {
            case .failedWork: 1000
            case .noAnswer: 100
            }
        }
    }

    private static let millisecondsMin = 10

    private var lastMilliseconds = 0

    package init() {}

    /// Returns the pause after another failure, in milliseconds.
    package mutating func next(after cause: Cause) -> Int {
        let doubled = max(Self.millisecondsMin, lastMilliseconds * 2)
        lastMilliseconds = min(doubled, Cause.failedWork.millisecondsMax)
        return min(lastMilliseconds, cause.millisecondsMax)
    }
}
