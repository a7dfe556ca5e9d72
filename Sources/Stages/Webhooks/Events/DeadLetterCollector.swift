internal import CatalogRecords
internal import JSON

/// A collector that makes one event from all dead letters of an app with one code, one stage and one minute,
/// in one partition. The event's anchor is the first of them, so a restart counts the others again.
struct DeadLetterCollector: Sendable {
    /// The most counts at one time. At the limit the oldest one is reported before its minute ends.
    static let countsMax = 100
    private static let minuteMilliseconds: Int64 = 60_000
    /// The time after the end of a minute for records that are still on their way.
    static let graceMilliseconds: Int64 = 5000

    private struct Bucket: Sendable, Hashable {
        let rejection: SourceRecord.Rejection
        let minute: Int64
    }

    private struct Pending: Sendable {
        let anchor: WebhookEvent.Anchor
        var count: Int
        var newestAt: Int64
    }

    private var pending: [Bucket: Pending] = [:]

    /// Counts a dead letter. Returns the event of the oldest count if there is no room for another count.
    ///
    /// - Parameter isWanted: Whether a count may begin with this record. Every record adds to a count that has begun.
    mutating func read(
        _ record: SourceRecord, of app: String, at anchor: WebhookEvent.Anchor, isWanted: Bool,
        in cursor: inout PartitionCursor
    ) -> [WebhookEvent] {
        guard let rejection = record.rejection else { return [] }
        let bucket = Bucket(rejection: rejection, minute: record.stamp / Self.minuteMilliseconds)
        if var counted = pending[bucket] {
            counted.count += 1
            counted.newestAt = max(counted.newestAt, record.stamp)
            pending[bucket] = counted
            return []
        }
        guard isWanted else { return [] }
        var events: [WebhookEvent] = []
        if pending.count == Self.countsMax,
            let oldest = pending.min(by: { $0.value.anchor.offset < $1.value.anchor.offset })?.key,
            let event = take(oldest, app: app)
        {
            events.append(event)
        }
        cursor.hold(anchor.offset)
        pending[bucket] = Pending(anchor: anchor, count: 1, newestAt: record.stamp)
        return events
    }

    /// Returns the events of the minutes that have ended.
    mutating func takeEnded(at now: Int64, app: String) -> [WebhookEvent] {
        let ended = pending.filter {
            ($0.key.minute + 1) * Self.minuteMilliseconds + Self.graceMilliseconds <= now
        }.sorted { $0.value.anchor.offset < $1.value.anchor.offset }
        return ended.compactMap { take($0.key, app: app) }
    }

    /// Ends a count and returns its event.
    private mutating func take(_ bucket: Bucket, app: String) -> WebhookEvent? {
        pending.removeValue(forKey: bucket).map { counted in
            WebhookEvent(
                .deadLettersAdded, at: counted.anchor, orderKey: Array("dead-letters".utf8),
                time: counted.newestAt
            ) { json in
                json.field("app", app)
                json.field("code", bucket.rejection.code)
                json.field("stage", bucket.rejection.stage)
                json.field("count", counted.count)
                json.field("since", bucket.minute * Self.minuteMilliseconds)
            }
        }
    }
}
