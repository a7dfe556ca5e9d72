internal import Sends

/// The timestamps that phones compare, in seconds since 1970. A timestamp is the second of the record's stamp, or the
/// next one that the scope has not used. So a burst runs ahead of the clock, up to a limit. The order of sends does not
/// depend on timestamps (`SendSequence`).
enum ScopeTimestamps {
    /// The most seconds that a timestamp may be ahead of its record's stamp. A phone accepts a timestamp from
    /// the future, and then ignores lower ones until the clock reaches it.
    static let aheadSecondsMax: Int64 = 5
    /// The longest wait of a send, in seconds. A larger lead does not come from a burst but from a wrong
    /// cluster clock. Waiting would then take as long as the clock was wrong.
    static let waitSecondsMax: Int64 = 60

    /// Returns the whole group's next timestamp, above those that the planner gave to any of its scopes.
    static func next(whole row: GroupRow, at now: Int64) -> Int64 { max(now, row.highestTimestamp + 1) }

    /// Returns a recipient's next timestamp, above its own and the whole group's timestamps.
    static func next(own: GroupRow, whole: GroupRow, at now: Int64) -> Int64 {
        max(now, max(own.timestamp, whole.timestamp) + 1)
    }

    static func isTooFarAhead(_ timestamp: Int64, at now: Int64) -> Bool {
        timestamp > now + aheadSecondsMax && timestamp <= now + aheadSecondsMax + waitSecondsMax
    }
}
