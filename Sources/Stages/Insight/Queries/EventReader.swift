internal import Identifiers
internal import InstallationRecords
internal import SQLite

/// A reader of one lane's events for a thread other than the loop's.
final class EventReader {
    private static let cacheKibibytes = 1024
    private static let columns = """
        offset, at, received_at, code, app, environment, installation, user, attributes_type, activity, group_name,
        token_hash, cause, schedule_id, schedule_name
        """

    let openingID: UInt64
    private let database: SQLiteDatabase

    init(lane: OpenLane) throws(SQLiteError) {
        openingID = lane.openingID
        database = try SQLiteDatabase(
            path: lane.eventsPath, role: .reader, cacheKibibytes: Self.cacheKibibytes)
    }

    // MARK: Lists

    /// Returns events by their time, from the question's position on.
    func events(for question: LaneQuery, lane: Int32) throws(SQLiteError) -> [ListEntry<Event>] {
        var all: [ListEntry<Event>] = []
        // In these indexes the code comes before the time. The events of a person are together for all
        // codes.
        let codes: [String?] =
            if question.user != nil || question.installation != nil {
                [question.code]
            } else {
                question.code.map { [$0] } ?? Event.Code.allCases.map(\.rawValue)
            }
        for code in codes { all += try events(for: question, code: code, lane: lane) }
        all.sort {
            question.isOldestFirst
                ? $1.position.isNewer(than: $0.position) : $0.position.isNewer(than: $1.position)
        }
        return Array(all.prefix(question.limit))
    }

    private func events(
        for question: LaneQuery, code: String?, lane: Int32
    ) throws(SQLiteError) -> [ListEntry<Event>] {
        var (conditions, values): ([String], [SQLValue]) = (["app = ?"], [.text(question.app)])
        func addCondition(_ column: String, equals text: String?) {
            guard let text else { return }
            conditions.append("\(column) = ?")
            values.append(.text(text))
        }
        addCondition("user", equals: question.user)
        addCondition("installation", equals: question.installation)
        addCondition("group_name", equals: question.group)
        addCondition("code", equals: code)
        addCondition("attributes_type", equals: question.type)
        conditions.append("at >= ? AND at < ?")
        values += [.integer(question.from), .integer(question.to)]
        if let after = question.after {
            let isAscending = question.isOldestFirst
            conditions.append(
                isAscending ? "(at > ? OR (at = ? AND offset > ?))" : "(at < ? OR (at = ? AND offset < ?))")
            values += [
                .integer(after.at), .integer(after.at),
                .integer(Self.offset(after: after, in: lane, isAscending: isAscending)),
            ]
        }
        let order = question.isOldestFirst ? "ASC" : "DESC"
        let statement = try database.prepare(
            """
            SELECT \(Self.columns) FROM events WHERE \(conditions.joined(separator: " AND "))
            ORDER BY at \(order), offset \(order) LIMIT \(question.limit)
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

    /// Returns the position: newest first, and within a millisecond by falling lane and offset.
    private static func position(of event: Event, offset: Int64, lane: Int32) -> ListPosition {
        var rest: [UInt8] = []
        BigEndian.append(Int32.max - lane, to: &rest)
        BigEndian.append(Int64.max - offset, to: &rest)
        return ListPosition(at: event.eventTime, rest: rest)
    }

    /// Returns the offset behind which the list continues in this lane, for events of the position's
    /// millisecond.
    private static func offset(after place: ListPosition, in lane: Int32, isAscending: Bool) -> Int64 {
        guard place.tieBreaker.count == 12 else { return isAscending ? .max : -1 }
        let number = place.tieBreaker.prefix(4).reduce(Int64(0)) { $0 << 8 | Int64($1) }
        let cursorLane = Int64(Int32.max) - number
        if cursorLane == Int64(lane) {
            return Int64.max - Int64(clamping: BigEndian.number(in: place.tieBreaker.span, at: 4))
        }
        // In a list of the newest, higher lanes come first within a millisecond, so earlier pages contained
        // them.
        let isOnEarlierPage = isAscending ? Int64(lane) < cursorLane : Int64(lane) > cursorLane
        return isOnEarlierPage == isAscending ? .max : -1
    }

    private static func event(in row: borrowing SQLiteRow) -> Event? {
        guard let code = row.text(at: 3).flatMap(Event.Code.init) else { return nil }
        return Event(
            code, app: row.text(at: 4) ?? "", environment: row.text(at: 5).flatMap(Environment.init),
            installation: row.text(at: 6), user: row.text(at: 7), attributesType: row.text(at: 8),
            activity: row.text(at: 9),
            group: row.text(at: 10), tokenHash: row.text(at: 11),
            cause: row.text(at: 12).flatMap(Event.Cause.init),
            scheduleID: row.text(at: 13), scheduleName: row.text(at: 14), eventTime: row.integer(at: 1),
            receivedAt: row.integer(at: 2))
    }

    // MARK: Counts

    func counts(for question: LaneQuery) throws(SQLiteError) -> [QueryResult.EventCount] {
        var (conditions, values): ([String], [SQLValue]) = (
            ["app = ?", "hour >= ?", "hour < ?"],
            [
                .text(question.app), .integer(question.from / EventCounts.hourMilliseconds),
                .integer((question.to + EventCounts.hourMilliseconds - 1) / EventCounts.hourMilliseconds),
            ]
        )
        for (column, text) in [
            ("code", question.code), ("attributes_type", question.type), ("group_name", question.group),
        ] {
            guard let text else { continue }
            conditions.append("\(column) = ?")
            values.append(.text(text))
        }
        // Columns that the answer does not distinguish are merged here.
        func groupedColumn(_ name: String, column: String) -> String {
            question.names.contains(name) ? column : "''"
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
    func taps(for question: LaneQuery) throws(SQLiteError) -> [Int] {
        guard let group = question.group, question.times.count > 1 else { return [] }
        let statement = try database.prepare(
            "SELECT count(*) FROM events WHERE app = ? AND group_name = ? AND code = ? AND at >= ? AND at < ?"
        )
        var taps: [Int] = []
        for (start, end) in zip(question.times, question.times.dropFirst()) {
            var count = 0
            try statement.forEachRow(values: [
                .text(question.app), .text(group), .text(Event.Code.tap.rawValue), .integer(start),
                .integer(end),
            ]) { count = Int($0.integer(at: 0)) }
            taps.append(count)
        }
        return taps
    }
}
