internal import Identifiers
package import JSON
internal import RecordFormat

/// A mark that the planner has processed a send with an idempotency key: a row of `groups`. It stays for a day, so
/// that a repetition of the request does nothing.
package struct SendIdempotencyRow: JSONRecord, IdempotencyRow, Hashable {
    package static let schemaVersion = 1

    /// A hash of the request's body.
    package var fingerprint: String
    /// The timestamp of the row's record, in milliseconds since 1970.
    package var writtenAt: Int64
    /// The verdict on the first request, which a repetition gets as well.
    package var verdict: ProgressRecord.PlannerVerdict
    /// The version that the first request got, or 0.
    package var version: Int64

    package init(
        fingerprint: String, writtenAt: Int64, verdict: ProgressRecord.PlannerVerdict = .planned,
        version: Int64 = 0
    ) {
        self.fingerprint = fingerprint
        self.writtenAt = writtenAt
        self.verdict = verdict
        self.version = version
    }

    /// Returns `/app/send`, with the send's id. It cannot equal a group's key, because no app has an empty name.
    package static func key(app: String, send: String) -> [UInt8] { RecordKey.join("", app, send) }

    /// Whether a key of `groups` is the key of such a row and not of a scope.
    package static func isKey(_ bytes: UnsafeRawBufferPointer) -> Bool {
        unsafe bytes.first == RecordKey.separator
    }

    package func write(to writer: inout JSONWriter) {
        writer.field("fingerprint", fingerprint)
        writer.field("at", writtenAt)
        writer.field("verdict", verdict == .planned ? nil : verdict.rawValue)
        writer.field("version", version == 0 ? nil : version)
    }

    package init(from record: JSONObject) {
        self.init(
            fingerprint: record["fingerprint"].name(), writtenAt: record["at"].timeMilliseconds(),
            verdict: record["verdict"].optional?.choice(of: ProgressRecord.PlannerVerdict.self) ?? .planned,
            version: record["version"].optional?.version() ?? 0)
    }
}
