package import JSON

/// A schedule with an idempotency key, and what was answered: a row of `timers` for a day, also when the timer is
/// gone.
package struct SeenOrder: Record, Hashable {
    package static let schemaVersion = 1
    /// A request that is repeated later is a new one.
    package static let keptMilliseconds = SeenSend.keptMilliseconds

    package var fingerprint: String
    package var answer: ScheduleReply.Scheduled
    /// Milliseconds since 1970 of its record.
    package var at: Int64

    package init(fingerprint: String, answer: ScheduleReply.Scheduled, at: Int64) {
        self.fingerprint = fingerprint
        self.answer = answer
        self.at = at
    }

    package func isKept(at stamp: Int64) -> Bool { stamp - at < Self.keptMilliseconds }

    /// `/app/owner/idempotency key`: no app has an empty name, so that it is no timer's key.
    package static func key(app: String, owner: ScheduleOwner, idempotencyKey: String) -> [UInt8] {
        RecordKey.join("", app, owner.text, idempotencyKey)
    }

    package static func isKey(_ bytes: UnsafeRawBufferPointer) -> Bool { unsafe SeenSend.isKey(bytes) }

    /// Its first member is its time: `TimerWake` reads it in place.
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
