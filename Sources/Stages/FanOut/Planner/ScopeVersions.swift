internal import Sends

/// The assignment of versions. A version is the second of the record's stamp, or the next unused one. So a
/// burst runs ahead of the clock, up to a limit.
enum ScopeVersions {
    /// The most seconds that a version may be ahead of its record's stamp. A phone accepts a timestamp from
    /// the future, and then ignores lower ones until the clock reaches it.
    static let aheadSecondsMax: Int64 = 5
    /// The longest wait of a send, in seconds. A larger lead does not come from a burst but from a wrong
    /// cluster clock. Waiting would then take as long as the clock was wrong.
    static let waitSecondsMax: Int64 = 60

    /// Returns the whole group's next version, above all versions of its scopes.
    static func next(whole row: GroupRow, at now: Int64) -> Int64 { max(now, row.highestVersion + 1) }

    /// Returns a recipient's next version, above its own and the whole group's versions.
    static func next(own: GroupRow, whole: GroupRow, at now: Int64) -> Int64 {
        max(now, max(own.version, whole.recipientVersionFloor) + 1)
    }

    static func isTooFarAhead(_ version: Int64, at now: Int64) -> Bool {
        version > now + aheadSecondsMax && version <= now + aheadSecondsMax + waitSecondsMax
    }
}
