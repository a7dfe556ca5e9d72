package import Identifiers
package import JSON
internal import RecordFormat
internal import Sends

/// An instruction of the planner to the scheduler to end a group at a time: a record of `schedules.auto`. The
/// planner writes it for a start with an end date. It applies only to the generation that it names: the resulting
/// END ends no other generation of the group. A newer record of the same generation replaces it.
package struct AutomaticEnd: JSONRecord, Hashable {
    package static let schemaVersion = 1

    package var app: String
    package var group: String
    /// The group's owner, if the group is private to one recipient.
    package var owner: Recipient?
    /// The generation of the group to end: the version of the start that opened it.
    package var generation: Int64
    /// The time of the END, in seconds since 1970.
    package var endsAt: Int64

    package init(app: String, group: String, owner: Recipient?, generation: Int64, endsAt: Int64) {
        self.app = app
        self.group = group
        self.owner = owner
        self.generation = generation
        self.endsAt = endsAt
    }

    /// The owner of the timer: the group's owner if the group is private, else the group.
    package var timerOwner: ScheduleOwner { owner.map { .recipient($0) } ?? .group(group) }

    /// The key of the timer's owner, for example `shop/g:match-42`.
    package var key: [UInt8] { timerOwner.key(app: app) }

    package func write(to writer: inout JSONWriter) {
        writer.field("app", app)
        writer.field("group", group)
        writer.field("owner", owner)
        writer.field("generation", generation)
        writer.field("at", endsAt)
    }

    package init(from record: JSONObject) {
        self.init(
            app: record["app"].appID(), group: record["group"].name(),
            owner: record["owner"].optional?.recipient(), generation: record["generation"].version(),
            endsAt: record["at"].seconds())
    }
}
