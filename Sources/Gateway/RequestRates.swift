package import Lifecycle

/// How many requests each key may make: a bucket that fills by the second and holds a second's worth.
/// Only keys of the catalogue get one, so that there are never more buckets than keys.
package struct RequestRates: Sendable {
    private struct Bucket {
        /// In thousandths of a request, so that whole numbers do.
        var level: Int
        var filledAt: Instant
    }

    private let perSecond: Int
    private var buckets: [String: Bucket] = [:]

    package init(perSecond: Int) {
        precondition(perSecond > 0, "a key may make requests")
        self.perSecond = perSecond
    }

    /// Nil when the request may pass; else how long to wait before the next, in milliseconds.
    package mutating func take(_ key: String, now: Instant) -> Int? {
        var bucket = buckets[key] ?? Bucket(level: perSecond * 1000, filledAt: now)
        let elapsed = max(0, min(1000, now.milliseconds(since: bucket.filledAt)))
        bucket.level = min(perSecond * 1000, bucket.level + elapsed * perSecond)
        // What is less than a millisecond is not lost: the clock is only moved by what was counted.
        if elapsed > 0 { bucket.filledAt = now }
        defer { buckets[key] = bucket }
        if bucket.level >= 1000 {
            bucket.level -= 1000
            return nil
        }
        return (1000 - bucket.level) / perSecond + 1
    }

    /// Forgets keys that are gone.
    package mutating func keep(_ isKnown: (String) -> Bool) {
        buckets = buckets.filter { isKnown($0.key) }
    }

    package var count: Int { buckets.count }
}
