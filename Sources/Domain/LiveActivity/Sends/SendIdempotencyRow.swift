package import JSON

/// A send with an idempotency key that its planner has processed: a row of `groups` for a day.
package struct SendIdempotencyRow: JSONRecord, Hashable {
    package static let schemaVersion = 1
    /// The time after which a repeated request counts as a new one.
    package static let retentionMilliseconds: Int64 = 86_400_000

    package var fingerprint: String
    /// The timestamp of its record, in milliseconds since 1970.
    package var writtenAt: Int64

    package init(fingerprint: String, writtenAt: Int64) {
        self.fingerprint = fingerprint
        self.writtenAt = writtenAt
    }

    package func isKept(at stamp: Int64) -> Bool { Self.isKept(writtenAt: writtenAt, at: stamp) }

    /// Whether a row whose record had the timestamp `seenAt` is kept.
    package static func isKept(writtenAt seenAt: Int64, at stamp: Int64) -> Bool {
        stamp - seenAt < retentionMilliseconds
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
