internal import Identifiers
internal import InstallationRecords
internal import SQLite

/// Reads the events of one lane from its SQLite file, on a thread other than the loop's.
final class EventReader {
    /// Small, because each thread has a reader of each lane.
    private static let cacheKibibytes = 256
    private static let columns = """
        offset, at, received_at, code, app, environment, installation, user, attributes_type, activity, group_name,
        token_hash, cause, schedule_id, schedule_name, send_id
        """

    /// `OpenLane.openingID` of the lane that it reads.
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

    /// The events of one lane, and the position behind which they were not read because the budget was used up.
    struct EventList {
        var entries: [ListEntry<Event>] = []
        var cut: ListPosition?
    }

    /// Returns events by their time, from the query's position on. An index gives the rows in that order. The other
    /// conditions are checked row by row, so that each row counts for the budget.
    func events(for query: LaneQuery, lane: Int32, budget: QueryBudget) throws -> EventList {
        self.budget = budget
        let selection = EventSelection(query: query, lane: lane)
        let statement = try database.prepare(selection.statement(columns: Self.columns))
        var list = EventList()
        var lastRead: ListPosition?
        var isCut = false
        do throws(SQLiteError) {
            try statement.readRows(values: selection.values) { row in
                guard budget.countRow() else {
                    isCut = true
                    return false
                }
                let position = Self.position(at: row.integer(at: 1), offset: row.integer(at: 0), lane: lane)
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
        if isCut {
            // Without any progress the next page would end here again.
            guard let lastRead else { throw QueryLimit.time }
            list.cut = lastRead
        }
        return list
    }

    /// Whether a row, whose values are in the order of `columns`, is about everything that the query names.
    private static func isWanted(_ row: borrowing SQLiteRow, by query: LaneQuery) -> Bool {
        let conditions: [(text: String?, column: Int)] = [
            (query.code, 3), (query.installation, 6), (query.user, 7), (query.type, 8), (query.group, 10),
        ]
        for condition in conditions {
            guard let text = condition.text else { continue }
            if row.text(at: condition.column) != text { return false }
        }
        return true
    }

    // MARK: Positions

    /// Returns the position of an event: newest first, and within a millisecond by falling lane and offset.
    private static func position(at time: Int64, offset: Int64, lane: Int32) -> ListPosition {
        var tieBreaker: [UInt8] = []
        BigEndian.append(Int32.max - lane, to: &tieBreaker)
        BigEndian.append(Int64.max - offset, to: &tieBreaker)
        return ListPosition(at: time, tieBreaker: tieBreaker)
    }

    /// Returns the event of a row, whose values are in the order of `columns`.
    private static func event(in row: borrowing SQLiteRow) -> Event? {
        guard let code = row.text(at: 3).flatMap(Event.Code.init) else { return nil }
        return Event(
            code, app: row.text(at: 4) ?? "", environment: row.text(at: 5).flatMap(Environment.init),
            installation: row.text(at: 6), user: row.text(at: 7), attributesType: row.text(at: 8),
            activity: row.text(at: 9),
            group: row.text(at: 10), tokenHash: row.text(at: 11),
            cause: row.text(at: 12).flatMap(Event.Cause.init),
            sendID: row.text(at: 15), scheduleID: row.text(at: 13), scheduleName: row.text(at: 14),
            eventTime: row.integer(at: 1), receivedAt: row.integer(at: 2))
    }

    // MARK: Counts

    /// The counts of one lane, and the hour up to which they are complete if the budget was used up.
    struct CountList {
        var counts: [QueryResult.EventCount] = []
        var cutHour: Int64?
    }

    /// Returns the counts of events by hour, and by the properties that `names` lists. Groups are in a table of their
    /// own, so that the hours of an app with many groups are few rows.
    func counts(for query: LaneQuery, budget: QueryBudget) throws -> CountList {
        self.budget = budget
        let hasGroups = query.group != nil || query.names.contains("group")
        var values: [SQLValue] = [
            .text(query.app), .integer(query.from / EventCounts.hourMilliseconds),
            .integer((query.to + EventCounts.hourMilliseconds - 1) / EventCounts.hourMilliseconds),
        ]
        if let group = query.group { values.append(.text(group)) }
        let statement = try database.prepare(
            """
            SELECT hour, code, attributes_type, \(hasGroups ? "group_name" : "''"), count
            FROM \(hasGroups ? "counts" : "totals")
            WHERE app = ?1 AND hour >= ?2 AND hour < ?3 \(query.group == nil ? "" : "AND group_name = ?4")
            ORDER BY hour
            """)
        var sums: [QueryResult.EventCount: Int] = [:]
        var (firstHour, lastHour): (Int64?, Int64?)
        var limit: QueryLimit?
        do throws(SQLiteError) {
            try statement.readRows(values: values) { row in
                let hour = row.integer(at: 0)
                firstHour = firstHour ?? hour
                lastHour = hour
                limit =
                    sums.count > QueryLimits.bucketsMax ? .size : budget.countRow() ? nil : .time
                if limit != nil { return false }
                if let count = Self.count(in: row, for: query) {
                    sums[count, default: 0] += Int(row.integer(at: 4))
                }
                return true
            }
        } catch {
            guard case .interrupted = error else { throw error }
            limit = .time
        }
        return try Self.list(of: sums, limit: limit, firstHour: firstHour, lastHour: lastHour)
    }

    /// Returns the counts of events by hour and user, from the events themselves. The tables of counts have no users,
    /// because an app has many.
    ///
    /// - Parameter erasedUpTo: Returns the time up to which a user's events are erased.
    func countsByUser(
        for query: LaneQuery, lane: Int32, budget: QueryBudget, erasedUpTo: (String) throws -> Int64
    ) throws -> CountList {
        self.budget = budget
        var ordered = query
        // The list can then end at an hour, behind which nothing was counted.
        ordered.isOldestFirst = true
        let selection = EventSelection(query: ordered, lane: lane)
        let statement = try database.prepare(selection.statement(columns: Self.columns))
        var sums: [QueryResult.EventCount: Int] = [:]
        var (firstHour, lastHour): (Int64?, Int64?)
        var limit: QueryLimit?
        var failure: (any Error)?
        do throws(SQLiteError) {
            try statement.readRows(values: selection.values) { row in
                let hour = row.integer(at: 1) / EventCounts.hourMilliseconds
                firstHour = firstHour ?? hour
                lastHour = hour
                limit = sums.count > QueryLimits.bucketsMax ? .size : budget.countRow() ? nil : .time
                if limit != nil { return false }
                guard Self.isWanted(row, by: query), let event = Self.event(in: row) else { return true }
                do {
                    if let user = event.user, try erasedUpTo(user) >= event.receivedAt { return true }
                } catch {
                    failure = error
                    return false
                }
                sums[Self.count(of: event, in: hour, for: query), default: 0] += 1
                return true
            }
        } catch {
            guard case .interrupted = error else { throw error }
            limit = .time
        }
        if let failure { throw failure }
        return try Self.list(of: sums, limit: limit, firstHour: firstHour, lastHour: lastHour)
    }

    /// Returns the key of an event's count, with the properties that the query distinguishes.
    private static func count(
        of event: Event, in hour: Int64, for query: LaneQuery
    ) -> QueryResult.EventCount {
        let names = query.names
        return QueryResult.EventCount(
            hour: hour, code: names.contains("code") ? event.code.rawValue : "",
            type: names.contains("type") ? event.attributesType : nil,
            group: names.contains("group") ? event.group : nil,
            user: names.contains("user") ? event.user : nil, count: 0)
    }

    /// Returns the counts of the complete hours.
    private static func list(
        of sums: [QueryResult.EventCount: Int], limit: QueryLimit?, firstHour: Int64?, lastHour: Int64?
    ) throws -> CountList {
        var list = CountList()
        if let limit {
            // The last hour may be incomplete. Without any complete hour the next page would end here again.
            guard let lastHour, lastHour != firstHour else { throw limit }
            list.cutHour = lastHour
        }
        for (var count, sum) in sums where list.cutHour.map({ count.hour < $0 }) ?? true {
            count.count = sum
            list.counts.append(count)
        }
        return list
    }

    /// Returns the key of a row's count, with the properties that the query distinguishes, or nil if the query does
    /// not want the row.
    private static func count(
        in row: borrowing SQLiteRow, for query: LaneQuery
    ) -> QueryResult.EventCount? {
        let (code, type, group) = (row.text(at: 1) ?? "", row.text(at: 2) ?? "", row.text(at: 3) ?? "")
        if let wanted = query.code, wanted != code { return nil }
        if let wanted = query.type, wanted != type { return nil }
        let names = query.names
        // A name is never empty, so an empty text means no name.
        return QueryResult.EventCount(
            hour: row.integer(at: 0), code: names.contains("code") ? code : "",
            type: names.contains("type") && !type.isEmpty ? type : nil,
            group: names.contains("group") && !group.isEmpty ? group : nil, count: 0)
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
