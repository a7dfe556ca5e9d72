internal import Identifiers
internal import JSON
internal import Jobs
internal import Payloads
internal import Sends

/// The answer about one group: its state, the number of running activities by the phones' reports, and the
/// results of its newest send.
struct GroupReport {
    let scope: QueryResult.GroupScope
    /// The number of running activities.
    let running: Int
    /// The number of phones whose last accepted push is the newest version.
    let onNewest: Int

    /// - Parameter newest: The tallies of the newest send, and possibly of other sends.
    init(scope: QueryResult.GroupScope, running: Int, newest: QueryResult) {
        self.scope = scope
        self.running = running
        let send = scope.row.newestState?.send
        onNewest = newest.tallies.filter { $0.send == send && $0.tally.event != .end }
            .reduce(0) { $0 + $1.tally.count(of: .accepted) }
    }

    /// Writes the fields into an open object.
    func write(to writer: inout JSONWriter) {
        let row = scope.row
        writer.field("groupId", scope.key.group)
        if case .user(let user)? = scope.key.recipient { writer.field("userId", user) }
        writer.field("state", row.stateName)
        writer.field("attributesType", row.attributesType)
        writer.field("version", row.version)
        writer.field("generation", row.generation)
        writer.field("updates", row.updateCount)
        writer.field("startedAt", row.generation > 0 ? SendSequence.milliseconds(of: row.generation) : nil)
        writer.field(
            "endedAt", row.stateName == "ended" ? SendSequence.milliseconds(of: row.endVersion) : nil)
        writer.field("endDate", row.endDate.map { $0 * 1000 })
        writer.field("lastAt", row.lastSendAt)
        writer.field("waitingSendId", row.heldSend?.id)
        if let newest = row.newestState {
            writer.name("newest")
            writer.beginObject()
            writer.field("sendId", newest.send)
            writer.field("event", newest.content.event.rawValue)
            writer.field("version", newest.version)
            writer.field("contentState", newest.content.contentState)
            writer.field("priority", newest.priority.rawValue)
            writer.field("acceptedAt", newest.acceptedAt)
            writer.endObject()
        }
        writer.field("running", running)
        writer.field("onNewest", onNewest)
        writer.field("share", running > 0 ? min(1, Double(onNewest) / Double(running)) : nil)
    }
}
