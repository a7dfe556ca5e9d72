internal import CatalogRecords
internal import Identifiers
internal import JSON
internal import RecordFormat
internal import Sends

/// A collector that makes one event from all progress records of a send: the planner's verdict, and the
/// counts of each lane (its tally). All of them lie in one partition. The event's anchor is the record with
/// the verdict, so a restart reads the tallies behind it again.
struct SendCollector: Sendable {
    /// The most sends that wait for tallies of lanes. At the limit the oldest one is reported with the counts so far.
    static let sendsMax = 1000
    /// The time after which a send is reported with the counts so far, in milliseconds.
    static let waitMilliseconds: Int64 = 900_000
    /// The most findings of a refusal in an event.
    private static let findingsMax = 20

    private struct Pending: Sendable {
        var progress: SendProgress
        let anchor: WebhookEvent.Anchor
        let orderKey: [UInt8]
        /// The stamp of the anchor, and of the newest record.
        let startedAt: Int64
        var newestAt: Int64
    }

    private var pending: [String: Pending] = [:]

    /// Reads a record, and returns the events of the sends that are complete now.
    ///
    /// - Parameters:
    ///   - app: The app of the endpoint. Records of other apps are left out.
    ///   - isWanted: Whether events with this record as their anchor are to be sent.
    mutating func read(
        _ record: SourceRecord, of app: String, at anchor: WebhookEvent.Anchor, isWanted: Bool,
        in cursor: inout PartitionCursor, with reader: JSONReader
    ) -> [WebhookEvent] {
        guard let value = record.value, let progress = try? ProgressRecord.decode(value, with: reader),
            progress.key.app == app, !progress.isDryRun
        else { return [] }
        switch progress.part {
        case .schedule: return []
        case .lanes: return add(progress, stampedAt: record.stamp)
        case .planner(let part):
            switch part.verdict {
            case .held: return []
            case .planned:
                return isWanted ? begin(progress, of: record, at: anchor, in: &cursor) : []
            case .cancelRefused: return add(progress, stampedAt: record.stamp)
            // The lanes of a planned send still report, so its event comes when they have.
            case .stopping where pending[progress.send] != nil: return add(progress, stampedAt: record.stamp)
            case .stopping, .superseded, .conflict, .newerState, .ended, .outdated, .expired, .refused,
                .unknownApp, .cancelled:
                guard isWanted else { return [] }
                cursor.hold(anchor.offset)
                var sum = SendProgress(id: progress.send)
                sum.add(progress)
                return [Self.event(for: sum, at: anchor, orderKey: record.key, time: record.stamp)]
            }
        }
    }

    /// Begins to wait for the lanes of a planned send.
    private mutating func begin(
        _ progress: ProgressRecord, of record: SourceRecord, at anchor: WebhookEvent.Anchor,
        in cursor: inout PartitionCursor
    ) -> [WebhookEvent] {
        // If a send with this id waits, its idempotency key was used again after it expired. That send gets
        // no further tallies, so its event is made now.
        var events = take(progress.send).map { [$0] } ?? []
        if pending.count == Self.sendsMax,
            let oldest = pending.min(by: { $0.value.anchor.offset < $1.value.anchor.offset })?.key,
            let event = take(oldest)
        {
            events.append(event)
        }
        cursor.hold(anchor.offset)
        pending[progress.send] = Pending(
            progress: SendProgress(id: progress.send), anchor: anchor, orderKey: record.key,
            startedAt: record.stamp, newestAt: record.stamp)
        return events + add(progress, stampedAt: record.stamp)
    }

    /// Adds a record to its send, and returns the event if the send is complete.
    private mutating func add(_ progress: ProgressRecord, stampedAt stamp: Int64) -> [WebhookEvent] {
        guard var send = pending[progress.send] else { return [] }
        send.progress.add(progress)
        send.newestAt = max(send.newestAt, stamp)
        pending[progress.send] = send
        guard send.progress.isComplete, let event = take(progress.send) else { return [] }
        return [event]
    }

    /// Returns the events of the sends that have waited too long.
    mutating func takeOverdue(at now: Int64) -> [WebhookEvent] {
        let overdue = pending.filter { $0.value.startedAt + Self.waitMilliseconds <= now }
            .sorted { $0.value.anchor.offset < $1.value.anchor.offset }
        return overdue.compactMap { take($0.key) }
    }

    /// Ends the wait of a send, and returns its event. Returns nil if the send does not wait.
    private mutating func take(_ send: String) -> WebhookEvent? {
        pending.removeValue(forKey: send).map { send in
            Self.event(
                for: send.progress, at: send.anchor, orderKey: send.orderKey, time: send.newestAt)
        }
    }

    private static func event(
        for send: SendProgress, at anchor: WebhookEvent.Anchor, orderKey: [UInt8], time: Int64
    ) -> WebhookEvent {
        let isCompleted =
            switch send.plannerPart?.verdict {
            case .planned, .cancelRefused: true
            default: false
            }
        return WebhookEvent(
            isCompleted ? .sendCompleted : .sendFailed, at: anchor, orderKey: orderKey, time: time
        ) { json in
            json.field("app", send.key?.app)
            json.field("sendId", send.id)
            json.field("groupId", send.key?.group)
            json.field("recipient", send.recipient?.text)
            json.field("state", send.stateName)
            json.field("complete", send.isComplete)
            json.field("acceptedAt", send.acceptedAt)
            json.field("targeted", send.targeted)
            json.field("jobs", send.expanded)
            json.field("dropped", send.dropped)
            send.writeExcluded(to: &json)
            send.writeSystems(to: &json)
            json.field("findings", (send.plannerPart?.findings).map { Array($0.prefix(Self.findingsMax)) })
        }
    }
}
