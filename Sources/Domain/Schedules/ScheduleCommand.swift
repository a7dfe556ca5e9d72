internal import Identifiers
package import JSON
internal import RecordFormat
package import Sends

/// A command of a gateway to the scheduler about the timers of one owner: a record of `schedules`.
package struct ScheduleCommand: JSONRecord, Hashable {
    package static let schemaVersion = 1
    /// The maximum size of a command's record in bytes. The `TimerRow` holds the command's send and must fit into
    /// a record too.
    package static let bytesMax = 900_000
    /// The maximum number of timers in one list.
    package static let listedTimersMax = 100

    package enum Action: Sendable, Hashable {
        /// Creates a timer.
        case schedule(Schedule)
        /// Deletes the selected timers.
        case cancel(TimerSelection)
        /// Erases the owner, who is a user: deletes the owner's timers, including automatic ENDs from the planner, and
        /// takes the user out of all other timers of the partition. Every partition gets a copy.
        case erase
        /// Lists the owner's timers that are due next, up to this number, from the position on.
        case list(Int, after: TimerPosition? = nil)
    }

    /// A selection of the owner's timers, to cancel them.
    package enum TimerSelection: Sendable, Hashable {
        /// All timers for this activity, by the name in their schedules.
        case activity(String)
        /// The timer with this schedule id.
        case id(String)
        /// The timer that holds this send.
        case send(String)
    }

    package var app: String
    package var owner: ScheduleOwner
    package var action: Action
    /// Nil if no request waits for a reply.
    package var replyTo: ReplyAddress?
    /// Milliseconds since 1970 by the gateway's clock. No decision depends on it.
    package var acceptedAt: Int64
    /// The id of the API key that gave the command, or an operator's name, for people. Nil if the command comes from
    /// the planner.
    package var author: String?
    /// The network address of the caller, for people.
    package var address: String?

    package init(
        _ action: Action, app: String, owner: ScheduleOwner, replyTo: ReplyAddress? = nil, acceptedAt: Int64
    ) {
        self.action = action
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
        case .cancel(let selection):
            writer.name("cancels")
            selection.write(to: &writer)
        case .erase:
            writer.name("cancels")
            writer.beginObject()
            writer.field("everything", true)
            writer.endObject()
        case .list(let countMax, let position):
            writer.field("lists", countMax)
            if let position {
                writer.name("after")
                position.write(to: &writer)
            }
        }
        writer.field("replyTo", replyTo)
        writer.field("acceptedAt", acceptedAt)
        writer.field("author", author)
        writer.field("address", address)
    }

    /// The field `cancels` or `lists` shows the action. A schedule has neither: its fields are members of the record.
    package init(from record: JSONObject) {
        let action: Action
        if let selection = record["cancels"].optional {
            let isErasure = selection.object()["everything"].optional?.bool() == true
            action = isErasure ? .erase : .cancel(selection.timerSelection())
        } else if let countMax = record["lists"].optional {
            action = .list(
                countMax.int(in: 1...Self.listedTimersMax),
                after: record["after"].optional.map { TimerPosition(from: $0.object()) })
        } else {
            action = .schedule(Schedule(from: record))
        }
        self.init(
            action, app: record["app"].appID(), owner: record["owner"].scheduleOwner(),
            acceptedAt: record["acceptedAt"].timeMilliseconds())
        replyTo = record["replyTo"].optional?.replyAddress()
        author = record["author"].optional?.string()
        address = record["address"].optional?.string()
        if case .schedule(let schedule) = action, !schedule.send.app.isExactlyEqual(to: app) {
            record["send"].report("must be of the command's app")
        }
    }
}

extension ScheduleCommand.TimerSelection {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.beginObject()
        switch self {
        case .activity(let name): writer.field("activity", name)
        case .id(let id): writer.field("id", id)
        case .send(let id): writer.field("send", id)
        }
        writer.endObject()
    }
}

extension JSONValue {
    fileprivate func timerSelection() -> ScheduleCommand.TimerSelection {
        let object = object()
        if let name = object["activity"].optional { return .activity(name.name()) }
        if let id = object["id"].optional { return .id(id.name()) }
        return .send(object["send"].name())
    }
}
