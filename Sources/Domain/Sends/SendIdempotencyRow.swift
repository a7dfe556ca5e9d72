internal import Identifiers
package import JSON
internal import RecordFormat

/// A send with an idempotency key that its planner has processed: a row of `groups` for a day.
package struct SendIdempotencyRow: JSONRecord, IdempotencyRow, Hashable {
    package static let schemaVersion = 1

    package var fingerprint: String
    /// The timestamp of its record, in milliseconds since 1970.
    package var writtenAt: Int64

    package init(fingerprint: String, writtenAt: Int64) {
        self.fingerprint = fingerprint
        self.writtenAt = writtenAt
    }

    /// Returns `/app/id`. It cannot equal a group's key, because no app has an empty name.
    package static func key(app: String, send: String) -> [UInt8] { RecordKey.join("", app, send) }

    package static func isKey(_ bytes: UnsafeRawBufferPointer) -> Bool {
        unsafe bytes.first == RecordKey.separator
    }

    package func write(to writer: inout JSONWriter) {
        writer.field("fingerprint", fingerprint)
        writer.field("at", writtenAt)
    }

    package init(from record: JSONObject) {
        self.init(fingerprint: record["fingerprint"].name(), writtenAt: record["at"].timeMilliseconds())
    }
}
