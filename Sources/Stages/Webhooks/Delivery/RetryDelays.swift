/// The pauses between the attempts of one event, as the Standard Webhooks specification recommends: ten attempts over a
/// little more than three days.
enum RetryDelays {
    /// The pauses after the first, second, … failed attempt, in milliseconds.
    private static let milliseconds = [
        5_000, 300_000, 1_800_000, 7_200_000, 18_000_000, 36_000_000, 50_400_000, 72_000_000, 86_400_000,
    ]
    /// The longest pause that an endpoint can ask for with `Retry-After`: a day.
    private static let askedMillisecondsMax = 86_400_000
    /// The longest pause after a restart. It is short, because it is not known how much of the pause has passed.
    private static let restartMillisecondsMax = 60_000
    /// A pause varies by this share, so that the events of an outage do not come back at the same moment.
    private static let jitterShare = 0.1

    static var attemptsMax: Int { milliseconds.count + 1 }

    /// Returns the pause before the next attempt, in milliseconds, or nil if the event is given up.
    ///
    /// - Parameters:
    ///   - attempts: The failed attempts, at least one.
    ///   - seconds: The value of `Retry-After`, if the endpoint has sent one.
    ///   - chance: A random number from 0 to 1.
    static func pause(afterAttempts attempts: Int, retryAfterSeconds seconds: Int?, chance: Double) -> Int? {
        guard attempts < attemptsMax else { return nil }
        let planned = milliseconds[max(0, attempts - 1)]
        let varied = Double(planned) * (1 + jitterShare * (2 * chance - 1))
        let asked = min(seconds ?? 0, askedMillisecondsMax / 1000) * 1000
        return max(Int(varied), asked)
    }

    /// Returns the pause of an event whose attempts an earlier owner has made, in milliseconds.
    static func pauseAfterRestart(attempts: Int) -> Int {
        if attempts == 0 { return 0 }
        let planned = milliseconds[min(attempts, milliseconds.count) - 1]
        return min(planned, restartMillisecondsMax)
    }
}
