package import JSON

/// That a group is to be ended by itself at a time: a record of `schedules.auto`, from the planner to the
/// scheduler. It stands for the group's life that it names; a newer one of the same life takes its place, and
/// the END that comes of it ends no other life.
package struct EndSchedule: Record, Hashable {
    package static let schemaVersion = 1

    package var app: String
    package var group: String
    /// Whose the group is, when it is private to one recipient.
    package var owner: Recipient?
    package var generation: Int64
    /// Seconds since 1970.
    package var at: Int64

    package init(app: String, group: String, owner: Recipient?, generation: Int64, at: Int64) {
        self.app = app
        self.group = group
        self.owner = owner
        self.generation = generation
        self.at = at
    }

    /// Who owns the timer: the group's owner, else the group.
    package var timerOwner: ScheduleOwner { owner.map { .recipient($0) } ?? .group(group) }

    package var key: [UInt8] { timerOwner.key(app: app) }

    package func write(to writer: inout JSONWriter) {
        writer.field("app", app)
        writer.field("group", group)
        writer.field("owner", owner)
        writer.field("generation", generation)
        writer.field("at", at)
    }

    package init(from record: JSONObject) {
        self.init(
            app: record["app"].appID(), group: record["group"].name(),
            owner: record["owner"].optional?.recipient(), generation: record["generation"].version(),
            at: record["at"].seconds())
    }
}
