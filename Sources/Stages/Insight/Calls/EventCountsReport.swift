internal import JSON

/// The answer about the number of events by hour or by day.
struct EventCountsReport {
    /// The events that one count is about. A property is nil if counts do not distinguish it.
    struct Bucket: Hashable {
        /// The beginning of the hour or day, in milliseconds since 1970.
        var at: Int64
        var code: String?
        var type: String?
        var group: String?
        var user: String?
    }

    private(set) var buckets: [Bucket: Int] = [:]
    /// The counts by code, of the whole range.
    private(set) var totals: [String: Int] = [:]

    /// - Parameters:
    ///   - counts: Counts that are split at least by hour and code.
    ///   - split: The properties that buckets distinguish: code, type, group, user.
    init(counts: [QueryResult.EventCount], isDaily: Bool, split: Set<String>) {
        for count in counts {
            let key = count.key
            totals[key.code, default: 0] += count.count
            let hour = isDaily ? key.hour - key.hour % 24 : key.hour
            let bucket = Bucket(
                at: hour * EventCounts.hourMilliseconds, code: split.contains("code") ? key.code : nil,
                type: split.contains("type") ? key.type : nil,
                group: split.contains("group") ? key.group : nil,
                user: split.contains("user") ? key.user : nil)
            buckets[bucket, default: 0] += count.count
        }
    }

    /// Writes the fields into an open object.
    func write(to writer: inout JSONWriter) {
        let sorted = buckets.sorted {
            Self.sortKey(of: $0.key).lexicographicallyPrecedes(Self.sortKey(of: $1.key))
        }
        writer.objects("buckets", of: sorted) { bucket, writer in
            writer.field("at", bucket.key.at)
            writer.field("code", bucket.key.code)
            writer.field("type", bucket.key.type)
            writer.field("group", bucket.key.group)
            writer.field("user", bucket.key.user)
            writer.field("count", bucket.value)
        }
        writer.name("totals")
        writer.beginObject()
        for (code, count) in totals.sorted(by: { $0.key < $1.key }) {
            writer.name(code)
            writer.value(count)
        }
        writer.endObject()
    }

    private static func sortKey(of bucket: Bucket) -> [UInt8] {
        var bytes: [UInt8] = []
        BigEndian.append(bucket.at, to: &bytes)
        return bytes
            + RowKey.joining(bucket.code ?? "", bucket.type ?? "", bucket.group ?? "", bucket.user ?? "")
    }
}
