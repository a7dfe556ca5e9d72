internal import Identifiers
package import JSON
package import RecordFormat
internal import Sends

/// A request that concerns the timers of one owner: a record of `schedules`, from a gateway.
package struct ScheduleCommand: JSONRecord, Hashable {
    package static let schemaVersion = 1
    /// The maximum size of an order's record in bytes. A timer's row holds the order's send and must fit into
    /// a record too.
    package static let bytesMax = 900_000
    /// The maximum number of timers in one list.
    package static let listedTimersMax = 100

    package enum Action: Sendable, Hashable {
        case schedule(Schedule)
        case cancel(TimerSelection)
        /// The owner's next timers, up to this number.
        case list(Int)
    }

    /// The timers of the owner to cancel.
    package enum TimerSelection: Sendable, Hashable {
        /// All timers for this activity, by the name in their schedules.
        case activity(String)
        /// The timer with this schedule id.
        case id(String)
        /// The timer that holds this send.
        case send(String)
        /// All timers of the owner, including automatic ENDs from the planner. It serves an erasure of the
        /// owner.
        case everything
    }

    /// The address of the request that waits for the answer.
    package struct ReplyAddress: Sendable, Hashable {
        /// The partition of `replies`.
        package var partition: Int32
        package var request: String

        package init(partition: Int32, request: String) {
            self.partition = partition
            self.request = request
        }
    }

    package var app: String
    package var owner: ScheduleOwner
    package var action: Action
    /// Nil if no request waits for an answer.
    package var replyTo: ReplyAddress?
    /// Milliseconds since 1970 by the gateway's clock. No decision depends on it.
    package var acceptedAt: Int64

    package init(
        _ wish: Action, app: String, owner: ScheduleOwner, replyTo: ReplyAddress? = nil, acceptedAt: Int64
    ) {
        self.action = wish
        self.app = app
        self.owner = owner
        self.replyTo = replyTo
        self.acceptedAt = acceptedAt
    }

    package var key: [UInt8] { owner.key(app: app) }

    package func write(to writer: inout JSONWriter) {
        writer.field("app", app)
        writer.field("owner", owner.text)
        switch action {
        case .schedule(let schedule): schedule.write(to: &writer)
        case .cancel(let choice):
            writer.name("cancels")
            writer.beginObject()
            switch choice {
            case .activity(let name): writer.field("activity", name)
            case .id(let id): writer.field("id", id)
            case .send(let id): writer.field("send", id)
            case .everything: writer.field("everything", true)
            }
            writer.endObject()
        case .list(let countMax): writer.field("lists", countMax)
        }
        if let replyTo {
            writer.name("replyTo")
            writer.beginObject()
            writer.field("partition", Int(replyTo.partition))
            writer.field("request", replyTo.request)
            writer.endObject()
        }
        writer.field("acceptedAt", acceptedAt)
    }

    package init(from record: JSONObject) {
        let wish: Action
        if let choice = record["cancels"].optional {
            wish = .cancel(choice.timerSelection())
        } else if let countMax = record["lists"].optional {
            wish = .list(countMax.int(in: 1...Self.listedTimersMax))
        } else {
            wish = .schedule(Schedule(from: record))
        }
        self.init(
            wish, app: record["app"].appID(), owner: record["owner"].scheduleOwner(),
            acceptedAt: record["acceptedAt"].timeMilliseconds())
        replyTo = record["replyTo"].optional.map { value in
            let object = value.object()
            return ReplyAddress(
                partition: Int32(object["partition"].int(in: 0...Int(Int32.max))),
                request: object["request"].name())
        }
        if case .schedule(let schedule) = wish, !schedule.send.app.isExactlyEqual(to: app) {
            record["send"].report("must be of the order's app")
        }
    }
}

extension JSONValue {
    fileprivate func timerSelection() -> ScheduleCommand.TimerSelection {
        let object = object()
        if let name = object["activity"].optional { return .activity(name.name()) }
        if let id = object["id"].optional { return .id(id.name()) }
        if object["everything"].optional?.bool() == true { return .everything }
        return .send(object["send"].name())
    }
}

/// A record of `schedules`.
package enum ScheduleRequest: Sendable, Hashable {
    case command(ScheduleCommand)
    /// A time probe without an order. The scheduler writes it and learns the time from the cluster's
    /// timestamp on it.
    case timeProbe

    /// The bytes of a time probe.
    package static let timeProbeBytes = Array(#"{"v":1,"asks":"time"}"#.utf8)

    package static func decode(_ bytes: UnsafeRawBufferPointer, with reader: JSONReader)
        throws(RecordDecodingError)
        -> ScheduleRequest
    {
        try unsafe ScheduleCommand.read(bytes, with: reader) { object in
            object["asks"].isMissing ? .command(ScheduleCommand(from: object)) : .timeProbe
        }
    }
}
