package import JSON

/// Durations counted in buckets, so that the counts of many lanes and processes can be added. Between a power of two
/// and the next one there are eight buckets of equal width. A percentile is the upper bound of a bucket, so it is never
/// too low, and at most an eighth too high.
package struct LatencyHistogram: Sendable, Hashable {
    /// The longest duration, about half a year. Longer ones count as this one.
    package static let millisecondsMax: Int64 = (1 << 34) - 1
    /// The eight buckets behind a power of two have numbers of three bits.
    private static let bits = 3
    private static let bucketsMax = Self.bucket(of: millisecondsMax) + 1

    /// The counts by the number of the bucket.
    private var counts: [Int: Int] = [:]

    package init() {}

    package var count: Int { counts.values.reduce(0, +) }

    /// Adds a duration. A negative one comes from differing clocks and counts as zero.
    package mutating func add(milliseconds: Int64, count: Int = 1) {
        if count > 0 {
            counts[Self.bucket(of: min(max(0, milliseconds), Self.millisecondsMax)), default: 0] += count
        }
    }

    package mutating func merge(_ other: LatencyHistogram) { counts.merge(other.counts, uniquingKeysWith: +) }

    /// Returns the duration that this share of the durations does not exceed, or nil without durations.
    ///
    /// - Parameter share: The share, for example 0.5 for the median.
    package func percentile(_ share: Double) -> Int64? {
        var remaining = max(1, Int((Double(count) * share).rounded(.up)))
        for (number, count) in counts.sorted(by: { $0.key < $1.key }) {
            remaining -= count
            if remaining <= 0 { return Self.upperBound(ofBucket: number) }
        }
        return nil
    }

    /// Returns the number of a duration's bucket. Below eight, each millisecond is a bucket. Above, the number
    /// is the power of two, and then the three bits behind its highest bit.
    private static func bucket(of milliseconds: Int64) -> Int {
        if milliseconds < 1 << bits { return Int(milliseconds) }
        let power = 63 - milliseconds.leadingZeroBitCount
        let part = Int(milliseconds >> Int64(power - bits)) & ((1 << bits) - 1)
        return ((power - bits + 1) << bits) + part
    }

    /// Returns the longest duration of a bucket. The inverse of `bucket(of:)`.
    private static func upperBound(ofBucket number: Int) -> Int64 {
        if number < 1 << bits { return Int64(number) }
        let shift = Int64((number >> bits) - 1)
        let part = Int64((1 << bits) + (number & ((1 << bits) - 1)))
        return ((part + 1) << shift) - 1
    }
}

extension LatencyHistogram {
    /// Writes pairs of a bucket's number and its count.
    package func write(to writer: inout JSONWriter) {
        writer.beginArray()
        for (number, count) in counts.sorted(by: { $0.key < $1.key }) {
            writer.value(number)
            writer.value(count)
        }
        writer.endArray()
    }

    package init(from value: JSONValue) {
        var elements = value.array(countMax: 2 * Self.bucketsMax)
        while let number = elements.next(), let count = elements.next() {
            counts[number.int(in: 0...Self.bucketsMax - 1), default: 0] += count.jobCount()
        }
    }
}
