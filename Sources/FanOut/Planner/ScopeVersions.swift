internal import LiveActivity

/// How versions are given. A version is the second at which a send's record was stamped, and never one that
/// was given before; so bursts run ahead of the clock, and only so far.
enum ScopeVersions {
    /// Seconds that a version may lie ahead of its record's stamp. A phone takes a state from the future, and
    /// would then ignore what is stamped by the clock.
    static let aheadMax: Int64 = 5
    /// Seconds that a send waits at most. What is further ahead than that was not made by a burst: the cluster's
    /// clock was wrong, and waiting would take as long as it was.
    static let waitMax: Int64 = 60

    /// The whole group's next: above that of every scope of the group.
    static func next(whole row: GroupRow, at now: Int64) -> Int64 { max(now, row.highest + 1) }

    /// A recipient's next: above its own and above what the whole group has.
    static func next(own: GroupRow, whole: GroupRow, at now: Int64) -> Int64 {
        max(now, max(own.version, whole.floor) + 1)
    }

    static func isTooFarAhead(_ version: Int64, at now: Int64) -> Bool {
        version > now + aheadMax && version <= now + aheadMax + waitMax
    }
}

/// What is known of a scope's life by its starts and ends: versions are in one order for each recipient, so
/// the later of the two decides.
enum ScopeLife {
    /// Neither a start nor an end was seen: an app may have started it by itself.
    case unknown
    case open
    case ended

    /// Of a whole group, or of a private group's owner.
    init(_ row: GroupRow) { self.init(start: row.generation, end: row.endedAt) }

    /// Of one recipient in a group: what the whole group was told holds for it, too.
    init(own: GroupRow, whole: GroupRow) {
        self.init(start: max(own.generation, whole.generation), end: max(own.endedAt, whole.endedAt))
    }

    private init(start: Int64, end: Int64) {
        self = start > end ? .open : end > 0 ? .ended : .unknown
    }
}
