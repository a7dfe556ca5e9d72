internal import Identifiers
package import JSON
internal import RecordFormat
internal import Sends

/// The first answer to a schedule with an idempotency key: a row of `timers`. A repetition of the command gets
/// this answer and creates no second timer. The row stays for a day, also after the timer was deleted.
package struct ScheduleIdempotencyRow: JSONRecord, IdempotencyRow, Hashable {
    package static let schemaVersion = 1

    /// A hash of the request's body.
    package var fingerprint: String
    /// The answer.
    package var scheduledTimer: GatewayReply.ScheduledTimer
    /// The timestamp of the row's record, in milliseconds since 1970.
    package var writtenAt: Int64

    package init(fingerprint: String, scheduledTimer: GatewayReply.ScheduledTimer, writtenAt: Int64) {
        self.fingerprint = fingerprint
        self.scheduledTimer = scheduledTimer
        self.writtenAt = writtenAt
    }

    /// Returns `/app/owner/idempotency key`, for example `/shop/u:ann/order-7`. It cannot equal a timer's key,
    /// because no app has an empty name.
    package static func key(app: String, owner: ScheduleOwner, idempotencyKey: String) -> [UInt8] {
        RecordKey.join("", app, owner.text, idempotencyKey)
    }

    /// Whether a key of `timers` is the key of such a row and not of a `TimerRow`: it begins with a slash, as the
    /// keys of `SendIdempotencyRow` do.
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
            scheduledTimer: GatewayReply.ScheduledTimer(from: record),
            writtenAt: record["at"].timeMilliseconds())
    }
}
