package import Lifecycle

/// Rate limits of many keys, addresses or installations. Each has a bucket that refills within one window and
/// holds the allowance of one window.
///
/// Two tables take turns. An entry that is silent for a window has a full bucket, so forgetting it loses
/// nothing. If more entries arrive in a window than the table holds, some are forgotten early and may send
/// more. The memory stays bounded.
package struct RateLimiter: Sendable {
    private struct Bucket {
        /// The fill level. One request costs `windowMilliseconds`; each millisecond adds `countMax`.
        var level: Int
        var filledAt: Instant
    }

    package let countMax: Int
    package let windowMilliseconds: Int
    private let entriesMax: Int
    /// Buckets by a hash with this process's seed, so that a client cannot choose names that share a bucket.
    private var recent: [Int: Bucket] = [:]
    private var older: [Int: Bucket] = [:]
    private var rotatedAt: Instant

    /// - Parameters:
    ///   - countMax: The requests allowed in a window, and in one burst after a pause.
    ///   - entriesMax: The entries in each of the two tables.
    package init(countMax: Int, windowMilliseconds: Int, entriesMax: Int, now: Instant) {
        precondition(
            countMax > 0 && windowMilliseconds > 0 && entriesMax > 0, "a rate table needs positive limits")
        self.countMax = countMax
        self.windowMilliseconds = windowMilliseconds
        self.entriesMax = entriesMax
        rotatedAt = now
    }

    /// Counts a request. Returns nil if it may pass, otherwise the time to wait in milliseconds.
    package mutating func recordRequest(of name: some Hashable, now: Instant) -> Int? {
        rotateTables(now: now)
        let hash = name.hashValue
        let full = countMax * windowMilliseconds
        var bucket = recent[hash] ?? older[hash] ?? Bucket(level: full, filledAt: now)
        let elapsed = max(0, min(windowMilliseconds, now.milliseconds(since: bucket.filledAt)))
        bucket.level = min(full, bucket.level + elapsed * countMax)
        // The time moves only by counted milliseconds, so fractions of a millisecond are not lost.
        if elapsed > 0 { bucket.filledAt = now }
        defer { recent[hash] = bucket }
        if bucket.level >= windowMilliseconds {
            bucket.level -= windowMilliseconds
            return nil
        }
        return (windowMilliseconds - bucket.level) / countMax + 1
    }

    private mutating func rotateTables(now: Instant) {
        let age = now.milliseconds(since: rotatedAt)
        guard age >= windowMilliseconds || recent.count >= entriesMax else { return }
        older = age >= 2 * windowMilliseconds ? [:] : recent
        recent = [:]
        rotatedAt = now
    }

    package var count: Int { recent.count + older.count }
}
