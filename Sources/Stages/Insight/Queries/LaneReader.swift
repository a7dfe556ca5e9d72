internal import HTTPClient
internal import JSON
internal import Kafka
internal import SQLite
internal import Store

/// Answers a `LaneQuery` from the files of the lanes that are open in this process. It is confined to one
/// thread, which is not the thread that writes the files.
///
/// An answer tells what it lacks. A list has a cut (`LaneList`), and counts have a `cutHour`: the next page begins there.
/// Any other query that a budget ends has a `limit` and no rows, because a part of a figure would be wrong. A lane with a
/// file that cannot be read is missing from the answer's `lanes`.
final class LaneReader {
    /// The limits of a query and of an answer between processes.
    static let jsonLimits = JSONLimits(bytesMax: HTTPResponseParser.memberBodyBytesMax, keysMax: 4_000_000)
    /// The limit of rows that are read in one transaction.
    static let pageRowsMax = 500
    /// A list reads at least this many rows in one transaction, because a filter may leave out most of them.
    private static let pageRowsMin = 50

    private let openLanes: OpenLanes
    /// The number of all lanes.
    let laneCount: Int
    private let freshness: FreshnessLog
    let reader = JSONReader(limits: LaneReader.jsonLimits)
    /// The budget of the query that is answered.
    private(set) var budget = QueryBudget()
    private var eventReaders: [Int32: EventReader] = [:]

    init(openLanes: OpenLanes, laneCount: Int, freshness: FreshnessLog) {
        self.openLanes = openLanes
        self.laneCount = laneCount
        self.freshness = freshness
    }

    /// Returns the rows of all open lanes.
    func answer(_ query: LaneQuery, budget: QueryBudget = QueryBudget()) -> QueryResult {
        self.budget = budget
        let lanes = openLanes.all
        var joined = QueryResult()
        for (index, lane) in lanes.enumerated() {
            budget.beginLane(remainingLanes: lanes.count - index)
            if let result = result(of: query, in: lane) { joined.merge(result) }
        }
        if query.kind == .freshness {
            let history = freshness.current
            joined.freshness.samples = history.samples(
                of: query.app, in: query.from..<max(query.from, query.to))
            joined.freshness.behindSince = history.behindSince(of: query.app)
        }
        if query.kind.isList { joined.keepFirst(query.limit, isOldestFirst: query.isOldestFirst) }
        return joined
    }

    /// Returns the rows of one lane, or nil if one of its files cannot be read.
    private func result(of query: LaneQuery, in lane: OpenLane) -> QueryResult? {
        var result = QueryResult()
        do {
            try find(query, in: lane, into: &result)
        } catch let limit as QueryLimit {
            result = QueryResult()
            result.limit = limit
        } catch SQLiteError.interrupted {
            result = QueryResult()
            result.limit = .time
        } catch {
            // `OpenLanes` notes an error that shows damage. Any other error is of a file that is being opened again, or that
            // the loop notices itself.
            openLanes.reportDamage(error, of: lane)
            return nil
        }
        result.lanes = [Int(lane.partition)]
        result.asOf = lane.asOf
        return result
    }

    /// Adds the rows of one lane to a result.
    private func find(_ query: LaneQuery, in lane: OpenLane, into result: inout QueryResult) throws {
        switch query.kind {
        case .sends: try findSends(query, in: lane, into: &result)
        case .sendList: try listSends(query, in: lane, into: &result)
        case .failures: try listFailures(query, in: lane, into: &result)
        case .series: try findPeriods(query, in: lane, into: &result)
        case .freshness: break
        case .groupList: try listGroups(query, in: lane, into: &result)
        case .groups: try findGroups(query, in: lane, into: &result)
        case .running: try countRunningActivities(query, in: lane, into: &result)
        case .people: try findPeople(query, in: lane, into: &result)
        case .userList: try listUsers(query, in: lane, into: &result)
        case .installationList: try listInstallations(query, in: lane, into: &result)
        case .erasures: try findErasures(query, in: lane, into: &result)
        case .pushes: try findPushes(query, in: lane, into: &result)
        case .events: try listEvents(query, in: lane, into: &result)
        case .counts: try countEvents(query, in: lane, into: &result)
        case .taps: try countTaps(query, in: lane, into: &result)
        case .audit: try listAudit(query, of: .audit, in: lane, into: &result)
        case .auditSends: try listAudit(query, of: .auditSends, in: lane, into: &result)
        }
    }

    /// Returns a reader of the lane's current event file.
    func eventReader(of lane: OpenLane) throws -> EventReader {
        let openReader = eventReaders[lane.partition]
        if let openReader, openReader.openingID == lane.openingID { return openReader }
        let newReader = try EventReader(lane: lane)
        eventReaders[lane.partition] = newReader
        return newReader
    }

    // MARK: Rows

    /// Returns the value of a row without its time.
    func value(
        of key: [UInt8], topic: InsightTopic, table: RowTable, in lane: OpenLane
    ) throws(StoreError) -> [UInt8]? {
        guard let file = lane.rowEnvironments[topic] else { return nil }
        return try file.read { view throws(StoreError) in
            guard let value = try view.value(of: key.span, in: file.table(named: table.rawValue)) else {
                return nil
            }
            return RetentionSweep.valueWithoutTime(value)
        }
    }

    /// Returns the first rows of a key range.
    func firstRows(
        _ countMax: Int, within range: KeyRange, topic: InsightTopic, table: RowTable, in lane: OpenLane
    ) throws(StoreError) -> [RowPage.Row] {
        guard let file = lane.rowEnvironments[topic] else { return [] }
        return try RowPage(of: table.rawValue, in: file, within: range, rowsMax: countMax).rows
    }

    /// Passes on the rows of a key range in order, page by page, until `body` returns false.
    func forEachRow(
        within range: KeyRange, pageRows: Int = LaneReader.pageRowsMax, topic: InsightTopic,
        table: RowTable, in lane: OpenLane, body: (RowPage.Row) throws -> Bool
    ) throws {
        guard let file = lane.rowEnvironments[topic] else { return }
        var unread: KeyRange? = range
        while let next = unread {
            let page = try RowPage(of: table.rawValue, in: file, within: next, rowsMax: pageRows)
            for row in page.rows {
                guard try body(row) else { return }
            }
            unread = page.rest
        }
    }

    /// Returns the entries of a table in time order, newest first, from the query's position on.
    ///
    /// - Parameters:
    ///   - prefix: The part of the keys before the time.
    ///   - makeValue: Makes the value of an entry from the value of a row. Nil leaves the row out.
    func list<Value>(
        for query: LaneQuery, topic: InsightTopic, table: RowTable, prefix: [UInt8], in lane: OpenLane,
        makeValue: ([UInt8]) throws -> Value?
    ) throws -> LaneList<Value> {
        var list = LaneList<Value>()
        var range = KeyRange(
            from: prefix + RowKey.newestFirst(time: query.to - 1), upTo: KeyRange(prefix: prefix).upper)
        if let after = query.after, after.at < query.to {
            range.advance(past: (prefix + RowKey.newestFirst(time: after.at) + after.tieBreaker).span)
        }
        var lastRead: ListPosition?
        let pageRows = min(max(query.limit, Self.pageRowsMin), Self.pageRowsMax)
        try forEachRow(within: range, pageRows: pageRows, topic: topic, table: table, in: lane) { row in
            guard let position = RowKey.position(in: row.key, after: prefix.count), position.at >= query.from
            else { return false }
            guard budget.countRow() else {
                try list.cut(behind: lastRead)
                return false
            }
            lastRead = position
            if let value = try makeValue(row.value) {
                list.entries.append(ListEntry(position: position, value: value))
            }
            return list.entries.count < query.limit
        }
        return list
    }
}
