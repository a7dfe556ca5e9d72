internal import Identifiers
internal import JSON
package import Sends

/// A send and the time at which it is due: the part of a `ScheduleCommand` that creates a timer. The id is
/// unique among the timers of an owner. A second schedule with the same id replaces the timer of the first.
package struct Schedule: Sendable, Hashable {
    /// The default of `latenessMillisecondsMax`: ten minutes.
    package static let latenessMillisecondsDefault: Int64 = 600_000

    /// The time at which the send is due, relative or absolute.
    package enum DueTime: Sendable, Hashable {
        /// Milliseconds after the timestamp that the cluster gave the command's record. So it does not depend
        /// on the clock of any process.
        case offset(Int64)
        /// Milliseconds since 1970.
        case at(Int64)
    }

    package var id: String
    /// A name for people, which lists of timers show.
    package var name: String?
    /// The name by which a cancel selects the timer: Teak's `activityId`, or the group.
    package var activity: String?
    package var dueTime: DueTime
    /// The maximum lateness in milliseconds. If the send is later, for example after an outage, it expires.
    package var latenessMillisecondsMax = latenessMillisecondsDefault
    /// The send in its final form, except for the schedule time, which the scheduler adds.
    package var send: Send
    /// The caller's idempotency key with a hash of the request, or nil if the caller gave no key.
    package var idempotency: Idempotency?

    package init(id: String, name: String? = nil, activity: String? = nil, dueTime: DueTime, send: Send) {
        self.id = id
        self.name = name
        self.activity = activity
        self.dueTime = dueTime
        self.send = send
    }

    /// Returns the due time in milliseconds since 1970.
    ///
    /// - Parameter recordTimestamp: the cluster's timestamp of the command's record, in milliseconds since 1970.
    package func dueAt(recordTimestamp: Int64) -> Int64 {
        switch dueTime {
        case .offset(let milliseconds): recordTimestamp + milliseconds
        case .at(let time): time
        }
    }

    func write(to writer: inout JSONWriter) {
        writer.field("id", id)
        writer.field("name", name)
        writer.field("activity", activity)
        switch dueTime {
        case .offset(let milliseconds): writer.field("offset", milliseconds)
        case .at(let time): writer.field("at", time)
        }
        writer.field("latenessMax", latenessMillisecondsMax)
        writer.field("send", send: send)
        writer.field("idempotencyKey", idempotency?.key)
        writer.field("fingerprint", idempotency?.fingerprint)
    }

    init(from record: JSONObject) {
        let dueTime: DueTime =
            if let offset = record["offset"].optional {
                .offset(offset.timeMilliseconds())
            } else {
                .at(record["at"].timeMilliseconds())
            }
        self.init(
            id: record["id"].name(), name: record["name"].optional?.name(),
            activity: record["activity"].optional?.name(), dueTime: dueTime,
            send: Send(from: record["send"].object()))
        latenessMillisecondsMax = record["latenessMax"].timeMilliseconds()
        idempotency = record["idempotencyKey"].optional.map {
            Idempotency(key: $0.name(), fingerprint: record["fingerprint"].name())
        }
    }
}
