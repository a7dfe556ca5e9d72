internal import Identifiers
package import JSON
internal import RecordFormat

/// An activity type with its own record in the catalog. It overrides a type of the same name in the app's
/// document.
package struct ActivityTypeRecord: JSONRecord, Hashable {
    package static let schemaVersion = 1

    package var app: String
    package var type: ActivityType

    package init(app: String, type: ActivityType) {
        self.app = app
        self.type = type
    }

    package var key: [UInt8] { Self.key(app: app, name: type.name) }

    /// Returns the key of the record, for example `type/shop/MatchAttributes`.
    package static func key(app: String, name: String) -> [UInt8] { RecordKey.join("type", app, name) }

    package func write(to writer: inout JSONWriter) {
        writer.field("app", app)
        type.writeFields(to: &writer)
    }

    package init(from record: JSONObject) {
        self.init(app: record["app"].appID(), type: ActivityType(from: record))
    }
}
