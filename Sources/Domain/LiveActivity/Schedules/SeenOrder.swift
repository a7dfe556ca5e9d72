package import JSON

/// A schedule with an idempotency key, and its answer: a row of `timers`. It stays for a day, even after the
/// timer is gone.
package struct SeenOrder: Record, Hashable {
    package static let schemaVersion = 1
    /// The time after which a repeated request counts as a new one.
    package static let keptMilliseconds = SeenSend.keptMilliseconds

    package var fingerprint: String
    package var answer: ScheduleReply.Scheduled
    /// The timestamp of its record, in milliseconds since 1970.
    package var at: Int64

    package init(fingerprint: String, answer: ScheduleReply.Scheduled, at: Int64) {
        self.fingerprint = fingerprint
        self.answer = answer
        self.at = at
    }

    package func isKept(at stamp: Int64) -> Bool { stamp - at < Self.keptMilliseconds }

    /// Returns `/app/owner/idempotency key`. It cannot equal a timer's key, because no app has an empty name.
    package static func key(app: String, owner: ScheduleOwner, idempotencyKey: String) -> [UInt8] {
        RecordKey.join("", app, owner.text, idempotencyKey)
    }

    package static func isKey(_ bytes: UnsafeRawBufferPointer) -> Bool { unsafe SeenSend.isKey(bytes) }

    /// Writes the time as the first member, because `TimerWake` reads it in place.
    package func write(to writer: inout JSONWriter) {
        writer.field("at", at)
        writer.field("fingerprint", fingerprint)
        answer.write(to: &writer)
    }

    package init(from record: JSONObject) {
        self.init(
            fingerprint: record["fingerprint"].name(), answer: ScheduleReply.Scheduled(from: record),
            at: record["at"].time())
    }
}
