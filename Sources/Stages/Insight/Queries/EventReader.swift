internal import Identifiers
internal import InstallationRecords
internal import SQLite

/// Reads the events of one lane from its SQLite file, on a thread other than the loop's.
final class EventReader {
    private static let cacheKibibytes = 1024
    private static let columns = """
        offset, at, received_at, code, app, environment, installation, user, attributes_type, activity, group_name,
        token_hash, cause, schedule_id, schedule_name, send_id
        """

    /// `OpenLane.openingID` of the lane that it reads.
    let openingID: UInt64
    private let database: SQLiteDatabase

    init(lane: OpenLane) throws(SQLiteError) {
        openingID = lane.openingID
        database = try SQLiteDatabase(
            path: lane.eventsPath, role: .reader, cacheKibibytes: Self.cacheKibibytes)
    }

    // MARK: Lists

    /// Returns events by their time, from the query's position on.
    func events(for query: LaneQuery, lane: Int32) throws(SQLiteError) -> [ListEntry<Event>] {
        var entries: [ListEntry<Event>] = []
        // The indexes of a person have all codes together. In the other indexes the code comes before the
        // time, so each code is read by itself.
        let codes: [String?] =
            if query.user != nil || query.installation != nil {
                [query.code]
            } else {
                query.code.map { [$0] } ?? Event.Code.allCases.map(\.rawValue)
            }
        for code in codes { entries += try events(for: query, code: code, lane: lane) }
        entries.sort {
            query.isOldestFirst
                ? $1.position.isNewer(than: $0.position) : $0.position.isNewer(than: $1.position)
        }
        return Array(entries.prefix(query.limit))
    }

    /// Returns the events with one code, or with any code if it is nil.
    private func events(
        for query: LaneQuery, code: String?, lane: Int32
    ) throws(SQLiteError) -> [ListEntry<Event>] {
        var (conditions, values): ([String], [SQLValue]) = (["app = ?"], [.text(query.app)])
        func addCondition(_ column: String, equals text: String?) {
            guard let text else { return }
            conditions.append("\(column) = ?")
            values.append(.text(text))
        }
        addCondition("user", equals: query.user)
        addCondition("installation", equals: query.installation)
        addCondition("group_name", equals: query.group)
        addCondition("code", equals: code)
        addCondition("attributes_type", equals: query.type)
        conditions.append("at >= ? AND at < ?")
        values += [.integer(query.from), .integer(query.to)]
        if let after = query.after {
            let isAscending = query.isOldestFirst
            conditions.append(
                isAscending ? "(at > ? OR (at = ? AND offset > ?))" : "(at < ? OR (at = ? AND offset < ?))")
            values += [
                .integer(after.at), .integer(after.at),
                .integer(Self.offset(after: after, in: lane, isAscending: isAscending)),
            ]
        }
        let order = query.isOldestFirst ? "ASC" : "DESC"
        let statement = try database.prepare(
            """
            SELECT \(Self.columns) FROM events WHERE \(conditions.joined(separator: " AND "))
            ORDER BY at \(order), offset \(order) LIMIT \(query.limit)
            """)
        var events: [ListEntry<Event>] = []
        try statement.forEachRow(values: values) { row in
            guard let event = Self.event(in: row) else { return }
            events.append(
                ListEntry(
                    position: Self.position(of: event, offset: row.integer(at: 0), lane: lane), value: event))
        }
        return events
    }

    // MARK: Positions

    /// The tie breaker of an event: four bytes for the lane and eight for the offset, both inverted.
    private static let laneBytes = 4
    private static let tieBreakerBytes = 12

    /// Returns the position of an event: newest first, and within a millisecond by falling lane and offset.
    private static func position(of event: Event, offset: Int64, lane: Int32) -> ListPosition {
        var tieBreaker: [UInt8] = []
        BigEndian.append(Int32.max - lane, to: &tieBreaker)
        BigEndian.append(Int64.max - offset, to: &tieBreaker)
        return ListPosition(at: event.eventTime, tieBreaker: tieBreaker)
    }

    /// Returns the offset behind which the list continues in this lane, for events of the position's
    /// millisecond.
    private static func offset(after position: ListPosition, in lane: Int32, isAscending: Bool) -> Int64 {
        // No event of the millisecond follows.
        let behindAll = isAscending ? Int64.max : -1
        // All events of the millisecond follow.
        let beforeAll = isAscending ? -1 : Int64.max
        guard position.tieBreaker.count == tieBreakerBytes else { return behindAll }
        let invertedLane = position.tieBreaker.prefix(laneBytes).reduce(Int64(0)) { $0 << 8 | Int64($1) }
        let cursorLane = Int64(Int32.max) - invertedLane
        if cursorLane == Int64(lane) {
            return Int64.max - Int64(clamping: BigEndian.number(in: position.tieBreaker.span, at: laneBytes))
        }
        // In a list of the newest, higher lanes come first within a millisecond, so earlier pages contained
        // them.
        let isOnEarlierPage = isAscending ? Int64(lane) < cursorLane : Int64(lane) > cursorLane
        return isOnEarlierPage ? behindAll : beforeAll
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

    /// Returns the counts of events by hour, and by the properties that `names` lists.
    func counts(for query: LaneQuery) throws(SQLiteError) -> [QueryResult.EventCount] {
        var (conditions, values): ([String], [SQLValue]) = (
            ["app = ?", "hour >= ?", "hour < ?"],
            [
                .text(query.app), .integer(query.from / EventCounts.hourMilliseconds),
                .integer((query.to + EventCounts.hourMilliseconds - 1) / EventCounts.hourMilliseconds),
            ]
        )
        for (column, text) in [
            ("code", query.code), ("attributes_type", query.type), ("group_name", query.group),
        ] {
            guard let text else { continue }
            conditions.append("\(column) = ?")
            values.append(.text(text))
        }
        // Columns that the answer does not distinguish are merged here.
        func groupedColumn(_ name: String, column: String) -> String {
            query.names.contains(name) ? column : "''"
        }
        let statement = try database.prepare(
            """
            SELECT hour, \(groupedColumn("code", column: "code")), \(groupedColumn("type", column: "attributes_type")),
                \(groupedColumn("group", column: "group_name")), sum(count)
            FROM counts WHERE \(conditions.joined(separator: " AND ")) GROUP BY 1, 2, 3, 4
            """)
        var counts: [QueryResult.EventCount] = []
        try statement.forEachRow(values: values) { row in
            let (code, type, group) = (row.text(at: 1) ?? "", row.text(at: 2) ?? "", row.text(at: 3) ?? "")
            // A name is never empty, so an empty text means no name.
            counts.append(
                QueryResult.EventCount(
                    hour: row.integer(at: 0), code: code, type: type.isEmpty ? nil : type,
                    group: group.isEmpty ? nil : group, count: Int(row.integer(at: 4))))
        }
        return counts
    }

    /// Returns the number of taps on a group's activities between neighboring times.
    func taps(for query: LaneQuery) throws(SQLiteError) -> [Int] {
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
