internal import CatalogRecords

/// The interval at which repeated reports are written. A phone that repeats a report changes only times. The
/// new times are written once per interval: a day, or an hour for the rows of update tokens, because these
/// rows expire.
package struct WriteInterval: Sendable, Hashable {
    package static let heartbeatMilliseconds: Int64 = 86_400_000
    package static let updateTokenMillisecondsMax: Int64 = 3_600_000

    /// At most a quarter of the shortest life of an update token, so that a repeated token is written before
    /// it expires.
    package let updateTokenMilliseconds: Int64

    init(for app: App) {
        let shortest = app.activityTypes.map(\.updateTokenMilliseconds).min() ?? .max
        let usual = ActivityType.updateTokenMillisecondsDefault
        updateTokenMilliseconds = max(1, min(Self.updateTokenMillisecondsMax, min(shortest, usual) / 4))
    }

    static func isBoundaryCrossed(every milliseconds: Int64, from old: Int64?, to new: Int64) -> Bool {
        guard let old else { return true }
        return old / milliseconds != new / milliseconds
    }
}
