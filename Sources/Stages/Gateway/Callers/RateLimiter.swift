package import Lifecycle

/// The rate limit of many keys, addresses or installations: a token bucket for each name. A bucket holds the allowance
/// of one window, in requests, bytes or reports. An empty bucket is full again after one window.
///
/// The memory is bounded by two tables: charges use `recent`, which becomes `older` after a window. A name
/// without a charge for a window has a full bucket, so forgetting it loses nothing. If more names are charged in a
/// window than a table holds, some are forgotten early and may send more.
package struct RateLimiter: Sendable {
    private struct Bucket {
        /// The fill level, in a unit that needs no fractions: an amount of one costs `windowMilliseconds`, and each
        /// millisecond adds `countMax`.
        var level: Int
        var refilledAt: Instant
    }

    /// The amount that is allowed in a window, and in one burst after a pause.
    package let countMax: Int
    package let windowMilliseconds: Int
    private let entriesMax: Int
    /// Buckets by a hash with this process's seed, so that a client cannot choose names that share a bucket.
    private var recent: [Int: Bucket] = [:]
    private var older: [Int: Bucket] = [:]
    private var rotatedAt: Instant

    /// - Parameter entriesMax: The entries in each of the two tables.
    package init(countMax: Int, windowMilliseconds: Int, entriesMax: Int, now: Instant) {
        precondition(
            countMax > 0 && windowMilliseconds > 0 && entriesMax > 0, "a rate table needs positive limits")
        self.countMax = countMax
        self.windowMilliseconds = windowMilliseconds
        self.entriesMax = entriesMax
        rotatedAt = now
    }

    /// Takes an amount from a bucket. Returns nil if the bucket holds the amount. Otherwise takes nothing and returns
    /// the time to wait in milliseconds. An amount above `countMax` costs a full bucket, so every amount can pass.
    package mutating func charge(_ amount: Int = 1, to name: some Hashable, now: Instant) -> Int? {
        rotateTables(now: now)
        let hash = name.hashValue
        let fullLevel = countMax * windowMilliseconds
        var bucket = recent[hash] ?? older[hash] ?? Bucket(level: fullLevel, refilledAt: now)
        let elapsedMilliseconds = max(0, min(windowMilliseconds, now.milliseconds(since: bucket.refilledAt)))
        bucket.level = min(fullLevel, bucket.level + elapsedMilliseconds * countMax)
        // Less than a millisecond adds nothing, and must still count at the next charge.
        if elapsedMilliseconds > 0 { bucket.refilledAt = now }
        defer { recent[hash] = bucket }
        let cost = min(amount, countMax) * windowMilliseconds
        if bucket.level >= cost {
            bucket.level -= cost
            return nil
        }
        // The milliseconds until the missing part is filled. One more, because the division rounds down.
        return (cost - bucket.level) / countMax + 1
    }

    /// Returns the amount that the name may send now.
    package func remaining(for name: some Hashable, now: Instant) -> Int {
        let hash = name.hashValue
        guard let bucket = recent[hash] ?? older[hash] else { return countMax }
        let elapsedMilliseconds = max(0, min(windowMilliseconds, now.milliseconds(since: bucket.refilledAt)))
        return min(
            countMax, bucket.level / windowMilliseconds + elapsedMilliseconds * countMax / windowMilliseconds)
    }

    private mutating func rotateTables(now: Instant) {
        let age = now.milliseconds(since: rotatedAt)
        guard age >= windowMilliseconds || recent.count >= entriesMax else { return }
        older = age >= 2 * windowMilliseconds ? [:] : recent
        recent = [:]
        rotatedAt = now
    }

    package var entryCount: Int { recent.count + older.count }
}
