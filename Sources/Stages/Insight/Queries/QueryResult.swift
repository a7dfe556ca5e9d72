internal import CatalogRecords
internal import Identifiers
internal import InstallationRecords
internal import JSON
internal import RecordFormat
internal import Schedules
internal import Sends

/// The rows that lanes have found for a `LaneQuery`. The rows of all lanes are joined, and then one report is
/// made from them. Only the fields of the query's kind are filled.
struct QueryResult: JSONRecord, Hashable {
    static let schemaVersion = 1

    /// The outcomes of one send in one APNs environment.
    struct EnvironmentTally: Sendable, Hashable {
        var send: String
        var environment: Environment
        var tally: SendTally
    }

    /// The state of one scope: a group, a recipient in a group, or an activity.
    struct GroupScope: Sendable, Hashable {
        var key: ScopeKey
        var row: GroupRow
    }

    /// The number of events of one hour.
    struct EventCount: Sendable, Hashable {
        /// Hours since 1970.
        var hour: Int64
        var code: String
        var type: String?
        var group: String?
        var user: String?
        var count: Int
    }

    /// A user of the app.
    struct UserSummary: Sendable, Hashable {
        var user: String
        /// The number of the user's installations.
        var installations = 0
        /// Whether a backend has set tags or attributes of the user.
        var hasProfile = false
        /// The time of the newest report of the user's installations, in milliseconds since 1970.
        var lastReportAt: Int64?
    }

    /// The freshness of phones, as processes have sampled it.
    struct Freshness: Sendable, Hashable {
        var samples: [FreshnessHistory.Sample] = []
        /// The time since which a group is behind, by group.
        var behindSince: [String: Int64] = [:]

        mutating func merge(_ other: Freshness) {
            samples += other.samples
            behindSince.merge(other.behindSince, uniquingKeysWith: min)
        }
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
    /// The failed pushes of one send.
    var failures: [ListEntry<TimelinePush>] = []
    /// One period for each beginning.
    var periods: [PeriodTally] = []
    var freshness = Freshness()
    /// The number of running activities, by group.
    var running: [String: Int] = [:]
    var installations: [Installation] = []
    var users: [ListEntry<UserSummary>] = []
    var listedInstallations: [ListEntry<Installation>] = []
    /// The times up to which a user's data is erased, by recipient.
    var erasures: [String: Int64] = [:]
    var timers: [TimerRow] = []
    var pushes: [TimelinePush] = []
    var events: [ListEntry<Event>] = []
    var eventCounts: [EventCount] = []
    /// The taps between the query's times, one count fewer than there are times.
    var taps: [Int] = []
    var audit: [ListEntry<AuditEntry>] = []
    /// The positions up to which lanes have read a list that a limit ended early. Behind the first of them the list
    /// has gaps.
    var cuts: [ListPosition] = []
    /// The hour since 1970 up to which counts are complete, if a limit ended them early.
    var cutHour: Int64?
    /// The limit because of which rows are missing.
    var limit: QueryLimit?

    init() {}

    /// Adds rows of other lanes. If two processes answer for one lane, the first answer counts, because both
    /// have the same rows.
    mutating func merge(_ other: QueryResult) {
        guard Set(lanes).isDisjoint(with: other.lanes) else { return }
        defer {
            mergeCounts()
            mergeUsers()
        }
        mergePeriods(of: other)
        freshness.merge(other.freshness)
        lanes += other.lanes
        asOf = min(asOf, other.asOf)
        tallies += other.tallies
        progress += other.progress
        sends += other.sends
        scopes += other.scopes
        running.merge(other.running, uniquingKeysWith: +)
        installations += other.installations
        users += other.users
        listedInstallations += other.listedInstallations
        erasures.merge(other.erasures, uniquingKeysWith: max)
        timers += other.timers
        pushes += other.pushes
        failures += other.failures
        events += other.events
        eventCounts += other.eventCounts
        while taps.count < other.taps.count { taps.append(0) }
        for index in other.taps.indices { taps[index] += other.taps[index] }
        audit += other.audit
        cuts += other.cuts
        cutHour = [cutHour, other.cutHour].compactMap(\.self).min()
        limit = limit ?? other.limit
    }

    /// Adds the records of further sends. A lane counts only if it answered for all of them.
    mutating func add(_ other: QueryResult) {
        lanes = lanes.filter(other.lanes.contains)
        asOf = min(asOf, other.asOf)
        tallies += other.tallies
        progress += other.progress
    }

    /// Keeps the first entries of each list, so that the rows of several lanes fit into one answer between
    /// processes.
    mutating func keepFirst(_ limit: Int, isOldestFirst: Bool) {
        let order = ListOrder(isOldestFirst: isOldestFirst)
        sends = order.firstPage(of: sends, cuts: cuts, limit: limit).page
        scopes = order.firstPage(of: scopes, cuts: cuts, limit: limit).page
        failures = order.firstPage(of: failures, cuts: cuts, limit: limit).page
        users = order.firstPage(of: users, cuts: cuts, limit: limit).page
        listedInstallations = order.firstPage(of: listedInstallations, cuts: cuts, limit: limit).page
        events = order.firstPage(of: events, cuts: cuts, limit: limit).page
        audit = order.firstPage(of: audit, cuts: cuts, limit: limit).page
    }

    private mutating func mergePeriods(of other: QueryResult) {
        for period in other.periods {
            if let index = periods.firstIndex(where: { $0.at == period.at }) {
                periods[index].merge(period)
            } else {
                periods.append(period)
            }
        }
    }

    /// Makes one entry of a user whose installations are in several lanes.
    private mutating func mergeUsers() {
        var merged: [ListPosition: ListEntry<UserSummary>] = [:]
        for entry in users {
            guard var known = merged[entry.position] else {
                merged[entry.position] = entry
                continue
            }
            known.value.installations += entry.value.installations
            known.value.hasProfile = known.value.hasProfile || entry.value.hasProfile
            known.value.lastReportAt =
                [known.value.lastReportAt, entry.value.lastReportAt].compactMap(\.self).max()
            merged[entry.position] = known
        }
        users = Array(merged.values)
    }

    /// Adds up counts of the same events in several lanes, and keeps only complete hours and as many as an answer
    /// may have.
    private mutating func mergeCounts() {
        if eventCounts.isEmpty { return }
        var sums: [EventCount: Int] = [:]
        for var count in eventCounts {
            let number = count.count
            count.count = 0
            sums[count, default: 0] += number
        }
        eventCounts = sums.map { count, sum in
            var count = count
            count.count = sum
            return count
        }
        if eventCounts.count > QueryLimits.bucketsMax {
            let hours = eventCounts.map(\.hour).sorted()
            let hour = hours[QueryLimits.bucketsMax]
            cutHour = min(cutHour ?? hour, hour)
            if hours[0] == hour { limit = .size }
        }
        if let cutHour { eventCounts.removeAll { $0.hour >= cutHour } }
    }

    func write(to writer: inout JSONWriter) {
        writer.list("lanes", of: lanes) { $1.value($0) }
        writer.field("asOf", asOf == .max ? nil : asOf)
        writer.objects("tallies", of: tallies) { entry, writer in
            writer.field("send", entry.send)
            writer.field("environment", entry.environment.rawValue)
            writer.object("tally", record: entry.tally)
        }
        writer.objects("progress", of: progress) { $0.write(to: &$1) }
        writer.objects("sends", of: sends) { entry, writer in
            writer.field("place", entry.position.cursor)
            writer.field("send", entry.value)
        }
        writer.objects("scopes", of: scopes) { entry, writer in
            writer.field("place", entry.position.cursor)
            writer.field(entry.value.key)
            writer.object("row", record: entry.value.row)
        }
        writer.objects("failures", of: failures) { entry, writer in
            writer.field("place", entry.position.cursor)
            writer.name("push")
            writer.beginObject()
            entry.value.write(to: &writer)
            writer.endObject()
        }
        writer.objects("periods", of: periods) { $0.write(to: &$1) }
        writer.objects("freshness", of: freshness.samples) { sample, writer in
            writer.field("at", sample.at)
            writer.field("running", sample.running)
            writer.field("onNewest", sample.onNewest)
        }
        writer.objects("behind", of: freshness.behindSince.sorted { $0.key < $1.key }) { entry, writer in
            writer.field("group", entry.key)
            writer.field("since", entry.value)
        }
        writer.objects("running", of: running.sorted { $0.key < $1.key }) { entry, writer in
            writer.field("group", entry.key)
            writer.field("count", entry.value)
        }
        writer.objects("installations", of: installations) { $0.write(to: &$1) }
        writer.objects("users", of: users) { entry, writer in
            writer.field("place", entry.position.cursor)
            writer.field("user", entry.value.user)
            writer.field("installations", entry.value.installations)
            writer.field("hasProfile", entry.value.hasProfile ? true : nil)
            writer.field("lastReportAt", entry.value.lastReportAt)
        }
        writer.objects("listed", of: listedInstallations) { entry, writer in
            writer.field("place", entry.position.cursor)
            writer.object("installation", record: entry.value)
        }
        writer.objects("erasures", of: erasures.sorted { $0.key < $1.key }) { entry, writer in
            writer.field("recipient", entry.key)
            writer.field("at", entry.value)
        }
        writer.objects("timers", of: timers) { $0.write(to: &$1) }
        writer.objects("pushes", of: pushes) { $0.write(to: &$1) }
        writer.objects("events", of: events) { entry, writer in
            writer.field("place", entry.position.cursor)
            writer.object("event", record: entry.value)
        }
        writer.objects("counts", of: eventCounts) { entry, writer in
            writer.field("hour", entry.hour)
            writer.field("code", entry.code)
            writer.field("type", entry.type)
            writer.field("group", entry.group)
            writer.field("user", entry.user)
            writer.field("count", entry.count)
        }
        writer.list("taps", of: taps) { $1.value($0) }
        writer.objects("audit", of: audit) { entry, writer in
            writer.field("place", entry.position.cursor)
            writer.object("entry", record: entry.value)
        }
        writer.list("cuts", of: cuts) { $1.value($0.cursor) }
        writer.field("cutHour", cutHour)
        writer.field("limit", limit?.rawValue)
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
        failures =
            (record["failures"].optional?.objects {
                ListEntry(
                    position: $0["place"].listPosition(), value: TimelinePush(from: $0["push"].object()))
            }) ?? []
        periods = (record["periods"].optional?.objects { PeriodTally(from: $0) }) ?? []
        // A process of an older version answers without the two lists.
        freshness.samples =
            record["freshness"].optional?.objects {
                FreshnessHistory.Sample(
                    at: $0["at"].timeMilliseconds(), running: $0["running"].int(),
                    onNewest: $0["onNewest"].int())
            } ?? []
        let behind =
            record["behind"].optional?.objects { ($0["group"].name(), $0["since"].timeMilliseconds()) } ?? []
        for (group, since) in behind { freshness.behindSince[group] = since }
        for (group, count) in record["running"].objects(read: { ($0["group"].name(), $0["count"].int()) }) {
            running[group] = count
        }
        installations = record["installations"].objects { Installation(from: $0) }
        // A process of an older version answers without the two lists.
        users =
            record["users"].optional?.objects {
                ListEntry(
                    position: $0["place"].listPosition(),
                    value: UserSummary(
                        user: $0["user"].name(), installations: $0["installations"].int(),
                        hasProfile: $0["hasProfile"].optional?.bool() ?? false,
                        lastReportAt: $0["lastReportAt"].optional?.timeMilliseconds()))
            } ?? []
        listedInstallations =
            record["listed"].optional?.objects {
                ListEntry(
                    position: $0["place"].listPosition(),
                    value: Installation(from: $0["installation"].object()))
            } ?? []
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
        eventCounts = record["counts"].objects {
            EventCount(
                hour: Int64($0["hour"].int()), code: $0["code"].name(), type: $0["type"].optional?.name(),
                group: $0["group"].optional?.name(), user: $0["user"].optional?.name(),
                count: $0["count"].int())
        }
        taps = record["taps"].list { $0.int() }
        audit = record["audit"].objects {
            ListEntry(position: $0["place"].listPosition(), value: AuditEntry(from: $0["entry"].object()))
        }
        cuts = record["cuts"].optional?.list { $0.listPosition() } ?? []
        cutHour = (record["cutHour"].optional?.int()).map(Int64.init)
        limit = record["limit"].optional?.choice(of: QueryLimit.self)
    }
}
