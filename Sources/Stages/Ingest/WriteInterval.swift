internal import CatalogRecords

/// The intervals at which repeated values are written. A phone that reports known values again changes only their
/// times. The new times are written once per interval: a day, or at most an hour for update tokens, because their rows
/// expire.
///
/// Intervals begin at multiples of their length since 1970. A repetition is written if it falls into another interval
/// than the time that is known.
package struct WriteInterval: Sendable, Hashable {
    /// The interval of all values except update tokens.
    package static let heartbeatMilliseconds: Int64 = 86_400_000
    /// The longest interval of update tokens and of signs that an activity runs.
    package static let updateTokenMillisecondsMax: Int64 = 3_600_000

    /// The interval of update tokens: at most a quarter of the shortest lifetime in the app, so that a repeated token
    /// is written before it expires.
    package let updateTokenMilliseconds: Int64

    init(for app: App) {
        let shortestLifetime = app.activityTypes.map(\.updateTokenMilliseconds).min() ?? .max
        let usualLifetime = ActivityType.updateTokenMillisecondsDefault
        let quarterOfShortest = min(shortestLifetime, usualLifetime) / 4
        updateTokenMilliseconds = max(1, min(Self.updateTokenMillisecondsMax, quarterOfShortest))
    }

    /// Returns whether two times are in different intervals. An unknown old time is always in another interval.
    static func isBoundaryCrossed(every milliseconds: Int64, from old: Int64?, to new: Int64) -> Bool {
        guard let old else { return true }
        return old / milliseconds != new / milliseconds
    }
}
