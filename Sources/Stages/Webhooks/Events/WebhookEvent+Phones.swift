internal import CatalogRecords
internal import Identifiers
internal import InstallationRecords
internal import JSON
internal import RecordFormat

// The events about one phone.

extension WebhookEvent {
    /// Makes an event from a record of `events`. Returns nil for other kinds of records.
    init?(eventRecord record: SourceRecord, at anchor: Anchor, with reader: JSONReader) {
        guard let value = record.value, let event = try? Event.decode(value, with: reader) else { return nil }
        let type: WebhookEventType
        switch event.code {
        case .startToken, .updateToken: type = .tokenReported
        case .closed: type = event.cause == .dismissed ? .activityDismissed : .activityEnded
        case .tap: type = .activityTapped
        case .profile: return nil
        }
        self.init(type, at: anchor, orderKey: record.key, time: event.receivedAt) { json in
            json.field("app", event.app)
            json.field("environment", event.environment?.rawValue)
            json.field("installationId", event.installation)
            json.field("userId", event.user)
            json.field("attributesType", event.attributesType)
            json.field("activityId", event.activity)
            json.field("groupId", event.group)
            if type == .tokenReported {
                json.field("token", event.code == .startToken ? "start" : "update")
                json.field("tokenHash", event.tokenHash)
            }
            json.field("cause", event.cause?.rawValue)
            json.field("scheduleId", event.scheduleID)
            json.field("scheduleName", event.scheduleName)
            json.field("eventTime", event.eventTime)
        }
    }

    /// The part of a report that only reports of dead tokens have. Other reports are not decoded, because there are
    /// thousands of them for each dead token.
    private static let deadTokenMark = Array(#""kind":"deadToken""#.utf8)

    /// Makes an event from a sender's report of a dead token. Returns nil for other reports.
    init?(deadTokenReport record: SourceRecord, at anchor: Anchor, with reader: JSONReader) {
        guard let value = record.value, value.firstRange(of: Self.deadTokenMark) != nil,
            let report = try? Report.decode(value, with: reader), report.kind == .deadToken,
            let refusal = report.refusal
        else { return nil }
        self.init(.tokenDead, at: anchor, orderKey: record.key, time: record.stamp) { json in
            json.field("app", report.app)
            json.field("environment", report.environment?.rawValue)
            json.field("installationId", report.installation)
            json.field("tokenHash", refusal.tokenHash)
            json.field("entry", refusal.entry)
            json.field("reason", refusal.reason)
        }
    }
}
