internal import Identifiers
internal import InstallationRecords
internal import SQLite

/// Reads the events of one lane from its SQLite file, on a thread other than the loop's.
final class EventReader {
    /// The cache of SQLite. It is small, because each thread has a reader of each lane.
    private static let cacheKibibytes = 256
    /// The columns of `events` that are read, in the order of the statement.
    fileprivate enum Column: Int, CaseIterable {
        case offset, at, receivedAt, code, app, environment, installation, user, attributesType, activity,
            group
        case tokenHash, cause, scheduleID, scheduleName, sendID

        static let names = """
            offset, at, received_at, code, app, environment, installation, user, attributes_type, activity, group_name,
            token_hash, cause, schedule_id, schedule_name, send_id
            """
    }

    /// The number of the lane's opening (`OpenLane.openingID`). After another opening, `LaneReader` makes a new reader.
    let openingID: UInt64
    private let database: SQLiteDatabase
    /// The budget of the running query.
    private var budget = QueryBudget()

    init(lane: OpenLane) throws(SQLiteError) {
        openingID = lane.openingID
        database = try SQLiteDatabase(
            path: lane.eventsPath, role: .reader, cacheKibibytes: Self.cacheKibibytes)
        database.interruptStatements { [unowned self] in budget.isTimeUp }
    }

    // MARK: Lists

    /// Returns events by their time, from the query's position on. An index gives the rows in that order. The other
    /// conditions are checked row by row, so that each row counts for the budget.
    func events(for query: LaneQuery, lane: Int32, budget: QueryBudget) throws -> LaneList<Event> {
        self.budget = budget
        let selection = EventSelection(query: query, lane: lane)
        let statement = try database.prepare(selection.statement(columns: Column.names))
        var list = LaneList<Event>()
        var lastRead: ListPosition?
        var isCut = false
        do throws(SQLiteError) {
            try statement.readRows(values: selection.values) { row in
                guard budget.countRow() else {
                    isCut = true
                    return false
                }
                let position = Self.position(at: row.integer(.at), offset: row.integer(.offset), lane: lane)
                lastRead = position
                if Self.isWanted(row, by: query), let event = Self.event(in: row) {
                    list.entries.append(ListEntry(position: position, value: event))
                }
                return list.entries.count < query.limit
            }
        } catch {
            guard case .interrupted = error else { throw error }
            isCut = true
        }
        if isCut { try list.cut(behind: lastRead) }
        return list
    }

    /// Whether a row is about everything that the query names.
    private static func isWanted(_ row: borrowing SQLiteRow, by query: LaneQuery) -> Bool {
        let conditions: [(text: String?, column: Column)] = [
            (query.code, .code), (query.installation, .installation), (query.user, .user),
            (query.type, .attributesType), (query.group, .group),
        ]
        for condition in conditions {
            guard let text = condition.text else { continue }
            if row.text(condition.column) != text { return false }
        }
        return true
    }

    /// Returns the position of an event: newest first, and within a millisecond by falling lane and offset.
    private static func position(at time: Int64, offset: Int64, lane: Int32) -> ListPosition {
        var tieBreaker: [UInt8] = []
        BigEndian.append(Int32.max - lane, to: &tieBreaker)
        BigEndian.append(Int64.max - offset, to: &tieBreaker)
        return ListPosition(at: time, tieBreaker: tieBreaker)
    }

    /// Returns nil for an event with a code that this version does not know.
    private static func event(in row: borrowing SQLiteRow) -> Event? {
        guard let code = row.text(.code).flatMap(Event.Code.init) else { return nil }
        return Event(
            code, app: row.text(.app) ?? "", environment: row.text(.environment).flatMap(Environment.init),
            installation: row.text(.installation), user: row.text(.user),
            attributesType: row.text(.attributesType), activity: row.text(.activity),
            group: row.text(.group), tokenHash: row.text(.tokenHash),
            cause: row.text(.cause).flatMap(Event.Cause.init), sendID: row.text(.sendID),
            scheduleID: row.text(.scheduleID), scheduleName: row.text(.scheduleName),
            eventTime: row.integer(.at), receivedAt: row.integer(.receivedAt))
    }

    // MARK: Counts

    /// The counts of one lane, and the hour up to which they are complete if a limit ended them early.
    struct CountList {
        var counts: [QueryResult.EventCount] = []
        var cutHour: Int64?
    }

    /// Returns the counts of events by hour, and by the properties that `names` lists. The table `totals` has the
    /// counts without the groups, so that the hours of an app with many groups are few rows.
    func counts(for query: LaneQuery, budget: QueryBudget) throws -> CountList {
        self.budget = budget
        let needsGroups = query.group != nil || query.names.contains("group")
        var values: [SQLValue] = [
            .text(query.app), .integer(query.from / EventCounts.hourMilliseconds),
            .integer((query.to + EventCounts.hourMilliseconds - 1) / EventCounts.hourMilliseconds),
        ]
        if let group = query.group { values.append(.text(group)) }
        let statement = try database.prepare(
            """
            SELECT hour, code, attributes_type, \(needsGroups ? "group_name" : "''"), count
            FROM \(needsGroups ? "counts" : "totals")
            WHERE app = ?1 AND hour >= ?2 AND hour < ?3 \(query.group == nil ? "" : "AND group_name = ?4")
            ORDER BY hour
            """)
        var sums = HourlySums()
        do throws(SQLiteError) {
            try statement.readRows(values: values) { row in
                let isWithinLimits = sums.beginRow(inHour: row.integer(at: 0), budget: budget)
                guard isWithinLimits else { return false }
                if let key = Self.key(in: row, for: query) { sums.add(Int(row.integer(at: 4)), to: key) }
                return true
            }
        } catch {
            guard case .interrupted = error else { throw error }
            sums.limit = .time
        }
        return try sums.completeHours()
    }

    /// Returns the counts of events by hour and user, from the events themselves. The tables of counts have no users,
    /// because an app has many.
    ///
    /// - Parameter erasedUpTo: Returns the time up to which a user's events are erased.
    func countsByUser(
        for query: LaneQuery, lane: Int32, budget: QueryBudget, erasedUpTo: (String) throws -> Int64
    ) throws -> CountList {
        self.budget = budget
        var oldestFirst = query
        // If a limit ends the reading, all hours before the last one that was read are complete.
        oldestFirst.isOldestFirst = true
        let selection = EventSelection(query: oldestFirst, lane: lane)
        let statement = try database.prepare(selection.statement(columns: Column.names))
        var sums = HourlySums()
        // The error of `erasedUpTo`, which ends the reading. `readRows` itself throws only errors of SQLite.
        var failure: (any Error)?
        do throws(SQLiteError) {
            try statement.readRows(values: selection.values) { row in
                let hour = row.integer(.at) / EventCounts.hourMilliseconds
                let isWithinLimits = sums.beginRow(inHour: hour, budget: budget)
                guard isWithinLimits else { return false }
                guard Self.isWanted(row, by: query), let event = Self.event(in: row) else { return true }
                do {
                    if let user = event.user, try erasedUpTo(user) >= event.receivedAt { return true }
                } catch {
                    failure = error
                    return false
                }
                sums.add(1, to: Self.key(of: event, in: hour, for: query))
                return true
            }
        } catch {
            guard case .interrupted = error else { throw error }
            sums.limit = .time
        }
        if let failure { throw failure }
        return try sums.completeHours()
    }

    /// Returns the key of an event's count, with the properties that the query distinguishes.
    private static func key(
        of event: Event, in hour: Int64, for query: LaneQuery
    ) -> QueryResult.EventCount.Key {
        let names = query.names
        return QueryResult.EventCount.Key(
            hour: hour, code: names.contains("code") ? event.code.rawValue : "",
            type: names.contains("type") ? event.attributesType : nil,
            group: names.contains("group") ? event.group : nil,
            user: names.contains("user") ? event.user : nil)
    }

    /// Returns the key of a stored count, with the properties that the query distinguishes, or nil if the query does
    /// not want the count.
    private static func key(
        in row: borrowing SQLiteRow, for query: LaneQuery
    ) -> QueryResult.EventCount.Key? {
        let (code, type, group) = (row.text(at: 1) ?? "", row.text(at: 2) ?? "", row.text(at: 3) ?? "")
        if let wanted = query.code, wanted != code { return nil }
        if let wanted = query.type, wanted != type { return nil }
        let names = query.names
        // A name is never empty, so an empty text means no name.
        return QueryResult.EventCount.Key(
            hour: row.integer(at: 0), code: names.contains("code") ? code : "",
            type: names.contains("type") && !type.isEmpty ? type : nil,
            group: names.contains("group") && !group.isEmpty ? group : nil)
    }

    /// Returns the number of taps on a group's activities between neighboring times.
    func taps(for query: LaneQuery, budget: QueryBudget) throws(SQLiteError) -> [Int] {
        self.budget = budget
        guard let group = query.group, query.times.count > 1 else { return [] }
        let statement = try database.prepare(
            "SELECT count(*) FROM events WHERE app = ? AND group_name = ? AND code = ? AND at >= ? AND at < ?"
        )
        var taps: [Int] = []
        for (start, end) in zip(query.times, query.times.dropFirst()) {
            var count = 0
            try statement.forEachRow(values: [
                .text(query.app), .text(group), .text(Event.Code.tap.rawValue), .integer(start),
                .integer(end),
            ]) { count = Int($0.integer(at: 0)) }
            taps.append(count)
        }
        return taps
    }
}

extension SQLiteRow {
    fileprivate borrowing func integer(_ column: EventReader.Column) -> Int64 { integer(at: column.rawValue) }

    fileprivate borrowing func text(_ column: EventReader.Column) -> String? { text(at: column.rawValue) }
}

/// The sums of one lane while its rows are read, the oldest hour first.
private struct HourlySums {
    private var sums: [QueryResult.EventCount.Key: Int] = [:]
    private var firstHour: Int64?
    private var lastHour: Int64?
    /// The limit that ended the reading, so that the last hour may be incomplete.
    var limit: QueryLimit?

    /// Begins a row. Returns false if a limit ends the reading before it.
    mutating func beginRow(inHour hour: Int64, budget: QueryBudget) -> Bool {
        firstHour = firstHour ?? hour
        lastHour = hour
        if sums.count > QueryLimits.bucketsMax {
            limit = .size
        } else if !budget.countRow() {
            limit = .time
        }
        return limit == nil
    }

    mutating func add(_ count: Int, to key: QueryResult.EventCount.Key) { sums[key, default: 0] += count }

    /// Returns the counts of the complete hours. Throws the limit if no hour is complete, because the next page would
    /// end in the same hour.
    func completeHours() throws(QueryLimit) -> EventReader.CountList {
        var list = EventReader.CountList()
        if let limit {
            guard let lastHour, lastHour != firstHour else { throw limit }
            list.cutHour = lastHour
        }
        for (key, count) in sums where list.cutHour.map({ key.hour < $0 }) ?? true {
            list.counts.append(QueryResult.EventCount(key: key, count: count))
        }
        return list
    }
}
