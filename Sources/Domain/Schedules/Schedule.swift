internal import Identifiers
internal import JSON
package import Sends

/// A send and its time: the part of a `ScheduleCommand` that creates a timer. The id is unique among the timers
/// of its owner. Scheduling again under the same id replaces the timer.
package struct Schedule: Sendable, Hashable {
    /// The default maximum lateness, in milliseconds.
    package static let latenessMillisecondsDefault: Int64 = 600_000

    package enum DueTime: Sendable, Hashable {
        /// Milliseconds after the cluster's timestamp of the order's record. It does not depend on the clock
        /// of any process.
        case offset(Int64)
        /// Milliseconds since 1970.
        case at(Int64)
    }

    package var id: String
    package var name: String?
    /// The name that a cancel uses: Teak's `activityId`, or the group.
    package var activity: String?
    package var dueTime: DueTime
    /// The maximum lateness in milliseconds. A later send expires.
    package var latenessMillisecondsMax = latenessMillisecondsDefault
    /// The send in its final form, except for the schedule time, which the scheduler adds.
    package var send: Send
    package var idempotency: Idempotency?

    package init(id: String, name: String? = nil, activity: String? = nil, dueTime when: DueTime, send: Send)
    {
        self.id = id
        self.name = name
        self.activity = activity
        self.dueTime = when
        self.send = send
    }

    /// Returns the due time in milliseconds since 1970.
    ///
    /// - Parameter stamp: the cluster's timestamp of the order's record, in milliseconds since 1970.
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
        let when: DueTime =
            if let offset = record["offset"].optional { .offset(offset.timeMilliseconds()) } else {
                .at(record["at"].timeMilliseconds())
            }
        self.init(
            id: record["id"].name(), name: record["name"].optional?.name(),
            activity: record["activity"].optional?.name(), dueTime: when,
            send: Send(from: record["send"].object()))
        latenessMillisecondsMax = record["latenessMax"].timeMilliseconds()
        idempotency = record["idempotencyKey"].optional.map {
            Idempotency(key: $0.name(), fingerprint: record["fingerprint"].name())
        }
    }
}
