internal import CatalogRecords
internal import JSON
internal import Members
internal import RecordFormat

/// A tracker that makes events from the open breakers that senders publish in `members`. A breaker of an app
/// and an environment counts as open while at least one process has it open.
struct BreakerTracker: Sendable {
    /// The environments with an open breaker, by the key of the process.
    private var environments: [[UInt8]: Set<String>] = [:]

    /// Reads a record, and returns an event for each environment whose breaker has opened or closed.
    mutating func read(
        _ record: SourceRecord, of app: String, at anchor: WebhookEvent.Anchor, with reader: JSONReader
    ) -> [WebhookEvent] {
        let before = allOpen
        if let value = record.value, let facts = try? ProcessFacts.decode(value, with: reader) {
            let open = facts.openBreakers.filter { $0.app == app }.map(\.environment)
            environments[record.key] = open.isEmpty ? nil : Set(open)
        } else {
            // The process has ended. Or the record is of another kind, whose key is not in the table.
            environments[record.key] = nil
        }
        let after = allOpen
        let changes =
            after.subtracting(before).sorted().map { (type: WebhookEventType.breakerOpened, environment: $0) }
            + before.subtracting(after).sorted().map {
                (type: WebhookEventType.breakerClosed, environment: $0)
            }
        return changes.enumerated().map { part, change in
            WebhookEvent(
                change.type, at: anchor, part: part, orderKey: Array("breaker/\(change.environment)".utf8),
                time: record.stamp
            ) { json in
                json.field("app", app)
                json.field("environment", change.environment)
            }
        }
    }

    private var allOpen: Set<String> { environments.values.reduce(into: []) { $0.formUnion($1) } }
}
