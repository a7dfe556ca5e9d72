internal import CatalogRecords
internal import Identifiers
internal import InstallationRecords
internal import JSON
internal import RecordFormat
internal import Schedules
internal import Sends

/// The rows that lanes found. The rows of several lanes and processes are joined first, and one report is
/// made from all of them.
struct QueryResult: JSONRecord, Hashable {
    static let schemaVersion = 1

    struct EnvironmentTally: Sendable, Hashable {
        var send: String
        var environment: Environment
        var tally: SendTally
    }

    struct GroupScope: Sendable, Hashable {
        var key: ScopeKey
        var row: GroupRow
    }

    struct EventCount: Sendable, Hashable {
        var hour: Int64
        var code: String
        var type: String?
        var group: String?
        var count: Int
    }

    /// The lanes that answered.
    var lanes: [Int] = []
    /// The time up to which the slowest lane has read, in milliseconds since 1970.
    var asOf = Int64.max
    var tallies: [EnvironmentTally] = []
    var progress: [ProgressRecord] = []
    /// Send ids.
    var sends: [ListEntry<String>] = []
    var scopes: [ListEntry<GroupScope>] = []
    var running: [String: Int] = [:]
    var installations: [Installation] = []
    /// The times up to which a user's data is erased, by recipient.
    var erasures: [String: Int64] = [:]
    var timers: [TimerRow] = []
    var pushes: [TimelinePush] = []
    var events: [ListEntry<Event>] = []
    var counts: [EventCount] = []
    /// The counts between the question's times, one fewer than there are times.
    var taps: [Int] = []
    var audit: [ListEntry<AuditEntry>] = []

    init() {}

    /// Adds rows of other lanes. If two processes answer for one lane, the first answer counts.
    mutating func merge(_ other: QueryResult) {
        guard Set(lanes).isDisjoint(with: other.lanes) else { return }
        lanes += other.lanes
        asOf = min(asOf, other.asOf)
        tallies += other.tallies
        progress += other.progress
        sends += other.sends
        scopes += other.scopes
        running.merge(other.running, uniquingKeysWith: +)
        installations += other.installations
        erasures.merge(other.erasures, uniquingKeysWith: max)
        timers += other.timers
        pushes += other.pushes
        events += other.events
        counts += other.counts
        while taps.count < other.taps.count { taps.append(0) }
        for index in other.taps.indices { taps[index] += other.taps[index] }
        audit += other.audit
    }

    /// Keeps the first entries of each list, so that the rows of several lanes fit into one answer between
    /// processes.
    mutating func keepFirst(_ limit: Int, isOldestFirst: Bool) {
        sends = QueryHandler.page(sends, limit: limit, isOldestFirst: isOldestFirst).page
        scopes = QueryHandler.page(scopes, limit: limit, isOldestFirst: isOldestFirst).page
        events = QueryHandler.page(events, limit: limit, isOldestFirst: isOldestFirst).page
        audit = QueryHandler.page(audit, limit: limit, isOldestFirst: isOldestFirst).page
    }

    func write(to writer: inout JSONWriter) {
        writer.list("lanes", of: lanes) { $1.value($0) }
        writer.field("asOf", asOf == .max ? nil : asOf)
        writer.objects("tallies", of: tallies) { one, writer in
            writer.field("send", one.send)
            writer.field("environment", one.environment.rawValue)
            writer.object("tally", record: one.tally)
        }
        writer.objects("progress", of: progress) { $0.write(to: &$1) }
        writer.objects("sends", of: sends) { one, writer in
            writer.field("place", one.position.cursor)
            writer.field("send", one.value)
        }
        writer.objects("scopes", of: scopes) { one, writer in
            writer.field("place", one.position.cursor)
            writer.field(one.value.key)
            writer.object("row", record: one.value.row)
        }
        writer.objects("running", of: running.sorted { $0.key < $1.key }) { one, writer in
            writer.field("group", one.key)
            writer.field("count", one.value)
        }
        writer.objects("installations", of: installations) { $0.write(to: &$1) }
        writer.objects("erasures", of: erasures.sorted { $0.key < $1.key }) { one, writer in
            writer.field("recipient", one.key)
            writer.field("at", one.value)
        }
        writer.objects("timers", of: timers) { $0.write(to: &$1) }
        writer.objects("pushes", of: pushes) { $0.write(to: &$1) }
        writer.objects("events", of: events) { one, writer in
            writer.field("place", one.position.cursor)
            writer.object("event", record: one.value)
        }
        writer.objects("counts", of: counts) { one, writer in
            writer.field("hour", one.hour)
            writer.field("code", one.code)
            writer.field("type", one.type)
            writer.field("group", one.group)
            writer.field("count", one.count)
        }
        writer.list("taps", of: taps) { $1.value($0) }
        writer.objects("audit", of: audit) { one, writer in
            writer.field("place", one.position.cursor)
            writer.object("entry", record: one.value)
        }
    }

    init(from record: JSONObject) {
        lanes = record["lanes"].list { $0.int(in: 0...Int(Int32.max)) }
        asOf = record["asOf"].optional?.timeMilliseconds() ?? .max
        tallies = record["tallies"].objects {
            EnvironmentTally(
                send: $0["send"].name(), environment: $0["environment"].environment(),
                tally: SendTally(from: $0["tally"].object()))
        }
        progress = record["progress"].objects { ProgressRecord(from: $0) }
        sends = record["sends"].objects {
            ListEntry(position: $0["place"].listPosition(), value: $0["send"].name())
        }
        scopes = record["scopes"].objects {
            ListEntry(
                position: $0["place"].listPosition(),
                value: GroupScope(key: $0.scopeKey(), row: GroupRow(from: $0["row"].object())))
        }
        for (group, count) in record["running"].objects(read: { ($0["group"].name(), $0["count"].int()) }) {
            running[group] = count
        }
        installations = record["installations"].objects { Installation(from: $0) }
        for (recipient, at) in record["erasures"].objects(read: {
            ($0["recipient"].string(), $0["at"].timeMilliseconds())
        }) {
            erasures[recipient] = at
        }
        timers = record["timers"].objects { TimerRow(from: $0) }
        pushes = record["pushes"].objects { TimelinePush(from: $0) }
        events = record["events"].objects {
            ListEntry(position: $0["place"].listPosition(), value: Event(from: $0["event"].object()))
        }
        counts = record["counts"].objects {
            EventCount(
                hour: Int64($0["hour"].int()), code: $0["code"].name(), type: $0["type"].optional?.name(),
                group: $0["group"].optional?.name(), count: $0["count"].int())
        }
        taps = record["taps"].list { $0.int() }
        audit = record["audit"].objects {
            ListEntry(position: $0["place"].listPosition(), value: AuditEntry(from: $0["entry"].object()))
        }
    }
}
