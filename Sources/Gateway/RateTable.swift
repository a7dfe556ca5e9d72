package import Lifecycle

/// How often each of many may come – a key, an address, an installation: a bucket each, which fills in a
/// window and holds a window's worth.
///
/// Two tables take turns. Who has been silent for a window has a full bucket, and a full bucket need not
/// be remembered: so nothing is lost by forgetting it, until more come in a window than the table holds.
/// Then some are forgotten early, and may come more often; memory stays what it is.
package struct RateTable: Sendable {
    private struct Bucket {
        /// One that may come is worth `windowMilliseconds`; a millisecond brings `countMax`.
        var level: Int
        var filledAt: Instant
    }

    package let countMax: Int
    package let windowMilliseconds: Int
    private let entriesMax: Int
    /// By a hash with this process's seed, so that nobody can choose ids that share a bucket.
    private var recent: [Int: Bucket] = [:]
    private var older: [Int: Bucket] = [:]
    private var turnedAt: Instant

    /// - Parameters:
    ///   - countMax: in a window, and at once after a pause.
    ///   - entriesMax: how many are remembered in each of the two tables.
    package init(countMax: Int, windowMilliseconds: Int, entriesMax: Int, now: Instant) {
        precondition(countMax > 0 && windowMilliseconds > 0 && entriesMax > 0, "somebody may come")
        self.countMax = countMax
        self.windowMilliseconds = windowMilliseconds
        self.entriesMax = entriesMax
        turnedAt = now
    }

    /// Nil when it may pass; else how long to wait before the next, in milliseconds.
    package mutating func take(_ name: some Hashable, now: Instant) -> Int? {
        turn(now)
        let place = name.hashValue
        let full = countMax * windowMilliseconds
        var bucket = recent[place] ?? older[place] ?? Bucket(level: full, filledAt: now)
        let elapsed = max(0, min(windowMilliseconds, now.milliseconds(since: bucket.filledAt)))
        bucket.level = min(full, bucket.level + elapsed * countMax)
        // What is less than a millisecond is not lost: the clock is only moved by what was counted.
        if elapsed > 0 { bucket.filledAt = now }
        defer { recent[place] = bucket }
        if bucket.level >= windowMilliseconds {
            bucket.level -= windowMilliseconds
            return nil
        }
        return (windowMilliseconds - bucket.level) / countMax + 1
    }

    private mutating func turn(_ now: Instant) {
        let age = now.milliseconds(since: turnedAt)
        guard age >= windowMilliseconds || recent.count >= entriesMax else { return }
        older = age >= 2 * windowMilliseconds ? [:] : recent
        recent = [:]
        turnedAt = now
    }

    package var count: Int { recent.count + older.count }
}
