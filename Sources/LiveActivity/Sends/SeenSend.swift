package import JSON

/// A send with an idempotency key that its planner has seen: a row of `groups` for a day.
package struct SeenSend: Record, Hashable {
    package static let schemaVersion = 1
    /// A request that is repeated later is a new one.
    package static let keptMilliseconds: Int64 = 86_400_000

    package var fingerprint: String
    /// Milliseconds since 1970 of its record.
    package var at: Int64

    package init(fingerprint: String, at: Int64) {
        self.fingerprint = fingerprint
        self.at = at
    }

    package func isKept(at stamp: Int64) -> Bool { Self.isKept(at, at: stamp) }

    /// Of one whose record had the stamp `seenAt`.
    package static func isKept(_ seenAt: Int64, at stamp: Int64) -> Bool { stamp - seenAt < keptMilliseconds }

    /// `/app/id`: no app has an empty name, so that it is no group's key.
    package static func key(app: String, send: String) -> [UInt8] { RecordKey.join("", app, send) }

    package static func isKey(_ bytes: UnsafeRawBufferPointer) -> Bool {
        unsafe bytes.first == RecordKey.separator
    }

    package func write(to writer: inout JSONWriter) {
        writer.field("fingerprint", fingerprint)
        writer.field("at", at)
    }

    package init(from record: JSONObject) {
        self.init(fingerprint: record["fingerprint"].name(), at: record["at"].time())
    }
}
