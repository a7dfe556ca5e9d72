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

    // Every query.

    /// The lanes that answered.
    var lanes: [Int] = []
    /// The time up to which the slowest lane has read, in milliseconds since 1970. `.max` without a lane.
    var asOf = Int64.max
    /// The limit because of which rows are missing.
    var limit: QueryLimit?

    // Every list.

    /// The positions up to which lanes have read a list that a limit ended early. Behind the first of them the list
    /// has gaps.
    var cuts: [ListPosition] = []

    // `sends`

    var tallies: [EnvironmentTally] = []
    var progress: [ProgressRecord] = []

    // `sendList`

    /// Send ids.
    var sends: [ListEntry<String>] = []

    // `failures`

    /// The failed pushes of one send.
    var failures: [ListEntry<TimelinePush>] = []

    // `series`

    /// One period for each beginning.
    var periods: [PeriodTally] = []

    // `freshness`

    var freshness = Freshness()

    // `groupList` and `groups`

    var scopes: [ListEntry<GroupScope>] = []

    // `running`

    /// The number of running activities, by group.
    var running: [String: Int] = [:]

    // `people` and `erasures`

    var installations: [Installation] = []
    var timers: [TimerRow] = []
    /// The times up to which a user's data is erased, by recipient.
    var erasures: [String: Int64] = [:]

    // `userList` and `installationList`

    var users: [ListEntry<UserSummary>] = []
    var listedInstallations: [ListEntry<Installation>] = []

    // `pushes`

    var pushes: [TimelinePush] = []

    // `events`

    var events: [ListEntry<Event>] = []

    // `counts`

    var eventCounts: [EventCount] = []
    /// The hour since 1970 up to which counts are complete, if a limit ended them early.
    var cutHour: Int64?

    // `taps`

    /// The taps between the query's times, one count fewer than there are times.
    var taps: [Int] = []

    // `audit` and `auditSends`

    var audit: [ListEntry<AuditEntry>] = []

    init() {}
}

// MARK: Rows

extension QueryResult {
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

    /// A number of events.
    struct EventCount: Sendable, Hashable {
        /// The events that one count is about. A property that the query does not distinguish is nil, and the code is empty.
        struct Key: Sendable, Hashable {
            /// Hours since 1970.
            var hour: Int64
            var code: String
            var type: String?
            var group: String?
            var user: String?
        }

        var key: Key
        var count: Int
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
}

// MARK: Merging

extension QueryResult {
    /// Adds the answer of other lanes. If it has a lane that is known already, the whole answer is dropped: the lane has
    /// just moved to another process, and its figures must not count twice.
    mutating func merge(_ other: QueryResult) {
        guard Set(lanes).isDisjoint(with: other.lanes) else { return }
        lanes += other.lanes
        asOf = min(asOf, other.asOf)
        limit = limit ?? other.limit
        cuts += other.cuts
        tallies += other.tallies
        progress += other.progress
        sends += other.sends
        failures += other.failures
        mergePeriods(other.periods)
        freshness.merge(other.freshness)
        scopes += other.scopes
        running.merge(other.running, uniquingKeysWith: +)
        installations += other.installations
        timers += other.timers
        erasures.merge(other.erasures, uniquingKeysWith: max)
        mergeUsers(other.users)
        listedInstallations += other.listedInstallations
        pushes += other.pushes
        events += other.events
        mergeCounts(of: other)
        mergeTaps(other.taps)
        audit += other.audit
    }

    /// Adds the answer to the query for the records of further sends. A lane counts only if it answered for all of them.
    mutating func addFurtherSends(_ other: QueryResult) {
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
        failures = order.firstPage(of: failures, cuts: cuts, limit: limit).page
        scopes = order.firstPage(of: scopes, cuts: cuts, limit: limit).page
        users = order.firstPage(of: users, cuts: cuts, limit: limit).page
        listedInstallations = order.firstPage(of: listedInstallations, cuts: cuts, limit: limit).page
        events = order.firstPage(of: events, cuts: cuts, limit: limit).page
        audit = order.firstPage(of: audit, cuts: cuts, limit: limit).page
    }

    private mutating func mergePeriods(_ others: [PeriodTally]) {
        for period in others {
            if let index = periods.firstIndex(where: { $0.at == period.at }) {
                periods[index].merge(period)
            } else {
                periods.append(period)
            }
        }
    }

    /// Adds users, with one entry of a user whose installations are in several lanes.
    private mutating func mergeUsers(_ others: [ListEntry<UserSummary>]) {
        var indices = Dictionary(users.indices.map { (users[$0].position, $0) }) { first, _ in first }
        for entry in others {
            guard let index = indices[entry.position] else {
                indices[entry.position] = users.count
                users.append(entry)
                continue
            }
            let known = users[index].value
            users[index].value.installations += entry.value.installations
            users[index].value.hasProfile = known.hasProfile || entry.value.hasProfile
            users[index].value.lastReportAt =
                [known.lastReportAt, entry.value.lastReportAt].compactMap(\.self).max()
        }
    }

    /// Adds up the counts of the same events, and keeps only complete hours and as many counts as an answer may have.
    private mutating func mergeCounts(of other: QueryResult) {
        cutHour = [cutHour, other.cutHour].compactMap(\.self).min()
        if eventCounts.isEmpty, other.eventCounts.isEmpty { return }
        var sums: [EventCount.Key: Int] = [:]
        for count in eventCounts + other.eventCounts { sums[count.key, default: 0] += count.count }
        eventCounts = sums.map { EventCount(key: $0, count: $1) }
        if eventCounts.count > QueryLimits.bucketsMax {
            let hours = eventCounts.map(\.key.hour).sorted()
            let firstHourBeyond = hours[QueryLimits.bucketsMax]
            cutHour = min(cutHour ?? firstHourBeyond, firstHourBeyond)
            // The first hour alone has too many counts, so no hour is complete.
            if hours[0] == firstHourBeyond { limit = .size }
        }
        if let cutHour { eventCounts.removeAll { $0.key.hour >= cutHour } }
    }

    /// Adds up the taps between the same times.
    private mutating func mergeTaps(_ others: [Int]) {
        while taps.count < others.count { taps.append(0) }
        for index in others.indices { taps[index] += others[index] }
    }
}
