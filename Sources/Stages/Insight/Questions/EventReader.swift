internal import LiveActivity
internal import SQLite

/// A reader of one lane's events for a thread other than the loop's.
final class EventReader {
    private static let cacheKibibytes = 1024
    private static let columns = """
        offset, at, received_at, code, app, environment, installation, user, attributes_type, activity, group_name,
        token_hash, cause, schedule_id, schedule_name
        """

    let opening: UInt64
    private let database: Database

    init(_ lane: OpenLane) throws(SQLiteError) {
        opening = lane.opening
        database = try Database(lane.eventsPath, as: .reader, cacheKibibytes: Self.cacheKibibytes)
    }

    // MARK: Lists

    /// Returns events by their time, from the question's position on.
    func list(_ question: Question, lane: Int32) throws(SQLiteError) -> [Listed<Event>] {
        var all: [Listed<Event>] = []
        // In these indexes the code comes before the time. The events of a person are together for all
        // codes.
        let codes: [String?] =
            if question.user != nil || question.installation != nil {
                [question.code]
            } else {
                question.code.map { [$0] } ?? Event.Code.allCases.map(\.rawValue)
            }
        for code in codes { all += try list(question, code: code, lane: lane) }
        all.sort {
            question.isOldestFirst ? $1.place.isNewer(than: $0.place) : $0.place.isNewer(than: $1.place)
        }
        return Array(all.prefix(question.limit))
    }

    private func list(
        _ question: Question, code: String?, lane: Int32
    ) throws(SQLiteError) -> [Listed<Event>] {
        var (conditions, values): ([String], [SQLValue]) = (["app = ?"], [.text(question.app)])
        func add(_ column: String, _ text: String?) {
            guard let text else { return }
            conditions.append("\(column) = ?")
            values.append(.text(text))
        }
        add("user", question.user)
        add("installation", question.installation)
        add("group_name", question.group)
        add("code", code)
        add("attributes_type", question.type)
        conditions.append("at >= ? AND at < ?")
        values += [.integer(question.from), .integer(question.to)]
        if let after = question.after {
            let isAscending = question.isOldestFirst
            conditions.append(
                isAscending ? "(at > ? OR (at = ? AND offset > ?))" : "(at < ? OR (at = ? AND offset < ?))")
            values += [
                .integer(after.at), .integer(after.at),
                .integer(Self.offset(behind: after, in: lane, isAscending: isAscending)),
            ]
        }
        let order = question.isOldestFirst ? "ASC" : "DESC"
        let statement = try database.prepare(
            """
            SELECT \(Self.columns) FROM events WHERE \(conditions.joined(separator: " AND "))
            ORDER BY at \(order), offset \(order) LIMIT \(question.limit)
            """)
        var events: [Listed<Event>] = []
        try statement.eachRow(values) { row in
            guard let event = Self.event(row) else { return }
            events.append(Listed(place: Self.place(event, row.integer(0), in: lane), value: event))
        }
        return events
    }

    /// Returns the position: newest first, and within a millisecond by falling lane and offset.
    private static func place(_ event: Event, _ offset: Int64, in lane: Int32) -> ListPlace {
        var rest: [UInt8] = []
        BigEndian.append(Int32.max - lane, to: &rest)
        BigEndian.append(Int64.max - offset, to: &rest)
        return ListPlace(at: event.eventTime, rest: rest)
    }

    /// Returns the offset behind which the list continues in this lane, for events of the position's
    /// millisecond.
    private static func offset(behind place: ListPlace, in lane: Int32, isAscending: Bool) -> Int64 {
        guard place.rest.count == 12 else { return isAscending ? .max : -1 }
        let number = place.rest.prefix(4).reduce(Int64(0)) { $0 << 8 | Int64($1) }
        let cursorLane = Int64(Int32.max) - number
        if cursorLane == Int64(lane) {
            return Int64.max - Int64(clamping: BigEndian.number(in: place.rest.span, at: 4))
        }
        // In a list of the newest, higher lanes come first within a millisecond, so earlier pages contained
        // them.
        let isTold = isAscending ? Int64(lane) < cursorLane : Int64(lane) > cursorLane
        return isTold == isAscending ? .max : -1
    }

    private static func event(_ row: borrowing Row) -> Event? {
        guard let code = row.text(3).flatMap(Event.Code.init) else { return nil }
        return Event(
            code, app: row.text(4) ?? "", environment: row.text(5).flatMap(Environment.init),
            installation: row.text(6), user: row.text(7), attributesType: row.text(8), activity: row.text(9),
            group: row.text(10), tokenHash: row.text(11), cause: row.text(12).flatMap(Event.Cause.init),
            scheduleID: row.text(13), scheduleName: row.text(14), eventTime: row.integer(1),
            receivedAt: row.integer(2))
    }

    // MARK: Counts

    func counts(_ question: Question) throws(SQLiteError) -> [Findings.Count] {
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
        func split(_ name: String, _ column: String) -> String {
            question.names.contains(name) ? column : "''"
        }
        let statement = try database.prepare(
            """
            SELECT hour, \(split("code", "code")), \(split("type", "attributes_type")),
                \(split("group", "group_name")), sum(count)
            FROM counts WHERE \(conditions.joined(separator: " AND ")) GROUP BY 1, 2, 3, 4
            """)
        var counts: [Findings.Count] = []
        try statement.eachRow(values) { row in
            let (code, type, group) = (row.text(1) ?? "", row.text(2) ?? "", row.text(3) ?? "")
            // A name is never empty, so an empty text means no name.
            counts.append(
                Findings.Count(
                    hour: row.integer(0), code: code, type: type.isEmpty ? nil : type,
                    group: group.isEmpty ? nil : group, count: Int(row.integer(4))))
        }
        return counts
    }

    /// Returns the number of taps on a group's activities between neighboring times.
    func taps(_ question: Question) throws(SQLiteError) -> [Int] {
        guard let group = question.group, question.times.count > 1 else { return [] }
        let statement = try database.prepare(
            "SELECT count(*) FROM events WHERE app = ? AND group_name = ? AND code = ? AND at >= ? AND at < ?"
        )
        var taps: [Int] = []
        for (start, end) in zip(question.times, question.times.dropFirst()) {
            var count = 0
            try statement.eachRow([
                .text(question.app), .text(group), .text(Event.Code.tap.rawValue), .integer(start),
                .integer(end),
            ]) { count = Int($0.integer(0)) }
            taps.append(count)
        }
        return taps
    }
}
