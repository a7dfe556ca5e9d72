internal import Identifiers
package import JSON
package import Payloads
internal import RecordFormat

/// The content of a start for one user, stored under a number. A send names the number instead of the content,
/// as in Netmera's API.
package struct NotificationDefinition: JSONRecord, Hashable {
    package static let schemaVersion = 1
    package static let countPerAppMax = 5000

    package var app: String
    /// The definition's id in the APIs. Of definitions without an idempotency key, later ones have larger numbers.
    package var number: Int64
    /// Milliseconds since 1970.
    package var createdAt: Int64
    /// The group of the activity for sends that name no group.
    package var group: String?
    package var content: PushContent
    /// A hash of the request's body, if the request had an idempotency key. Then the number follows from that key.
    package var fingerprint: String?

    package init(app: String, number: Int64, createdAt: Int64, content: PushContent) {
        self.app = app
        self.number = number
        self.createdAt = createdAt
        self.content = content
    }

    package var key: [UInt8] { Self.key(app: app, number: number) }

    /// Returns the key of the record, for example `definition/shop/42`.
    package static func key(app: String, number: Int64) -> [UInt8] {
        RecordKey.join("definition", app, "\(number)")
    }

    package func write(to writer: inout JSONWriter) {
        writer.field("app", app)
        writer.field("number", number)
        writer.field("createdAt", createdAt)
        writer.field("group", group)
        writer.content(content)
        writer.field("fingerprint", fingerprint)
    }

    package init(from record: JSONObject) {
        self.init(
            app: record["app"].appID(), number: Int64(record["number"].int(in: 0...Int.max)),
            createdAt: record["createdAt"].timeMilliseconds(), content: record.content())
        group = record["group"].optional?.name()
        fingerprint = record["fingerprint"].optional?.name()
    }
}
