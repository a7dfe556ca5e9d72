package import Identifiers
package import JSON
internal import RecordFormat

/// The erasure of a recipient: a record of `superseded`, from a gateway to all senders. A sender drops the recipient's
/// waiting jobs. The cluster's stamp on the record is the time of the erasure.
package struct RecipientErasure: JSONRecord, Hashable {
    package static let schemaVersion = 1

    package var app: String
    package var recipient: Recipient

    package init(app: String, recipient: Recipient) {
        self.app = app
        self.recipient = recipient
    }

    /// `app///recipient`, for example `shop///u:ann`. No key of a `SupersededVersions` has two empty parts.
    package var key: [UInt8] { RecordKey.join(app, "", "", recipient.text) }

    package func write(to writer: inout JSONWriter) {
        writer.field("app", app)
        writer.field("erased", recipient)
    }

    package init(from record: JSONObject) {
        self.init(app: record["app"].appID(), recipient: record["erased"].recipient())
    }
}
