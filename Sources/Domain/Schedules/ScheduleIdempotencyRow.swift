internal import Identifiers
package import JSON
internal import RecordFormat
internal import Sends

/// A schedule with an idempotency key, and its answer: a row of `timers`. It stays for a day, even after the
/// timer is gone.
package struct ScheduleIdempotencyRow: JSONRecord, IdempotencyRow, Hashable {
    package static let schemaVersion = 1

    package var fingerprint: String
    package var scheduledTimer: ScheduleReply.ScheduledTimer
    /// The timestamp of its record, in milliseconds since 1970.
    package var writtenAt: Int64

    package init(fingerprint: String, scheduledTimer: ScheduleReply.ScheduledTimer, writtenAt: Int64) {
        self.fingerprint = fingerprint
        self.scheduledTimer = scheduledTimer
        self.writtenAt = writtenAt
    }

    /// Returns `/app/owner/idempotency key`. It cannot equal a timer's key, because no app has an empty name.
    package static func key(app: String, owner: ScheduleOwner, idempotencyKey: String) -> [UInt8] {
        RecordKey.join("", app, owner.text, idempotencyKey)
    }

    package static func isKey(_ bytes: UnsafeRawBufferPointer) -> Bool {
        unsafe SendIdempotencyRow.isKey(bytes)
    }

    /// Writes the time as the first member, because `TimerWakeTime` reads it in place.
    package func write(to writer: inout JSONWriter) {
        writer.field("at", writtenAt)
        writer.field("fingerprint", fingerprint)
        scheduledTimer.write(to: &writer)
    }

    package init(from record: JSONObject) {
        self.init(
            fingerprint: record["fingerprint"].name(),
            scheduledTimer: ScheduleReply.ScheduledTimer(from: record),
            writtenAt: record["at"].timeMilliseconds())
    }
}
