internal import JSON

/// A send and its time: the part of a `ScheduleOrder` that creates a timer. The id is unique among the timers
/// of its owner. Scheduling again under the same id replaces the timer.
package struct Schedule: Sendable, Hashable {
    /// The default maximum lateness, in milliseconds.
    package static let latenessUsual: Int64 = 600_000

    package enum When: Sendable, Hashable {
        /// Milliseconds after the cluster's timestamp of the order's record. It does not depend on the clock
        /// of any process.
        case offset(Int64)
        /// Milliseconds since 1970.
        case at(Int64)
    }

    /// A repetition with the same key within a day gets the first answer and does nothing. With another
    /// fingerprint it is a conflict.
    package struct Idempotency: Sendable, Hashable {
        package var key: String
        /// The fingerprint of the request's body.
        package var fingerprint: String

        package init(key: String, fingerprint: String) {
            self.key = key
            self.fingerprint = fingerprint
        }
    }

    package var id: String
    package var name: String?
    /// The name that a cancel uses: Teak's `activityId`, or the group.
    package var activity: String?
    package var when: When
    /// The maximum lateness in milliseconds. A later send expires.
    package var latenessMax = latenessUsual
    /// The send in its final form, except for the schedule time, which the scheduler adds.
    package var send: Send
    package var idempotency: Idempotency?

    package init(id: String, name: String? = nil, activity: String? = nil, _ when: When, _ send: Send) {
        self.id = id
        self.name = name
        self.activity = activity
        self.when = when
        self.send = send
    }

    /// Returns the due time in milliseconds since 1970.
    ///
    /// - Parameter stamp: the cluster's timestamp of the order's record, in milliseconds since 1970.
    package func dueAt(stamp: Int64) -> Int64 {
        switch when {
        case .offset(let milliseconds): stamp + milliseconds
        case .at(let time): time
        }
    }

    func write(to writer: inout JSONWriter) {
        writer.field("id", id)
        writer.field("name", name)
        writer.field("activity", activity)
        switch when {
        case .offset(let milliseconds): writer.field("offset", milliseconds)
        case .at(let time): writer.field("at", time)
        }
        writer.field("latenessMax", latenessMax)
        writer.nested("send", send)
        writer.field("idempotencyKey", idempotency?.key)
        writer.field("fingerprint", idempotency?.fingerprint)
    }

    init(from record: JSONObject) {
        let when: When =
            if let offset = record["offset"].optional { .offset(offset.time()) } else {
                .at(record["at"].time())
            }
        self.init(
            id: record["id"].name(), name: record["name"].optional?.name(),
            activity: record["activity"].optional?.name(), when, Send(from: record["send"].object()))
        latenessMax = record["latenessMax"].time()
        idempotency = record["idempotencyKey"].optional.map {
            Idempotency(key: $0.name(), fingerprint: record["fingerprint"].name())
        }
    }
}
