internal import CatalogRecords
internal import HTTPClient
internal import Identifiers
internal import InstallationRecords
internal import JSON
internal import Kafka
internal import RecordFormat
internal import SQLite
internal import Store

/// Answers a `LaneQuery` from the files of the lanes that are open in this process. It is confined to one
/// thread, which is not the thread that writes the files.
final class LaneReader {
    /// The limit of rows that are read in one transaction.
    static let pageRowsMax = 500

    private let openLanes: OpenLanes
    private let laneCount: Int
    private let freshness: FreshnessLog
    /// The limits of a query and of an answer between processes.
    static let jsonLimits = JSONLimits(bytesMax: HTTPResponseParser.memberBodyBytesMax, keysMax: 4_000_000)
    let reader = JSONReader(limits: LaneReader.jsonLimits)
    /// The budget of the query that is answered.
    private(set) var budget = QueryBudget()
    private var eventReaders: [Int32: EventReader] = [:]

    /// - Parameter lanes: The number of all lanes.
    init(openLanes: OpenLanes, lanes: Int, freshness: FreshnessLog) {
        self.openLanes = openLanes
        self.laneCount = lanes
        self.freshness = freshness
    }

    /// Returns the rows of all open lanes. A lane that cannot be read now is missing from the result's `lanes`.
    func answer(_ query: LaneQuery, budget: QueryBudget = QueryBudget()) -> QueryResult {
        var joined = QueryResult()
        self.budget = budget
        let lanes = openLanes.all
        for (index, lane) in lanes.enumerated() {
            budget.beginLane(remainingLanes: lanes.count - index)
            var result = QueryResult()
            do {
                try find(query, in: lane, into: &result)
            } catch let limit as QueryLimit {
                result = QueryResult()
                result.limit = limit
            } catch SQLiteError.interrupted {
                result.limit = .time
            } catch {
                continue
            }
            result.lanes = [Int(lane.partition)]
            result.asOf = lane.asOf
            joined.merge(result)
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

    /// Adds the rows of one lane to a result.
    private func find(_ query: LaneQuery, in lane: OpenLane, into result: inout QueryResult) throws {
        switch query.kind {
        case .sends:
            for send in query.names {
                try budget.spendRow()
                try findSend(send, of: query.app, in: lane, into: &result)
            }
        case .sendList: try listSends(query, in: lane, into: &result)
        case .failures: try listFailures(query, in: lane, into: &result)
        case .series:
            guard let resolution = query.code.flatMap(SeriesResolution.init) else { return }
            let stored = StoredReceipts(environment: lane.receiptsEnvironment, reader: reader)
            for period in try stored.periods(of: query.app, resolution: resolution) {
                try budget.spendRow()
                if period.at >= query.from, period.at < query.to { result.periods.append(period) }
            }
        case .freshness: break
        case .groupList: try listGroups(query, in: lane, into: &result)
        case .groups: try findGroups(query, in: lane, into: &result)
        case .running:
            for group in query.names {
                try budget.spendRow()
                let key = InstallationRowMapping.runningCountKey(of: group, app: query.app)
                guard let count = try value(of: key, topic: .installations, table: .counts, in: lane) else {
                    continue
                }
                result.running[group] = Int(BigEndian.number(in: count.span, at: 0))
            }
        case .userList: try listUsers(query, in: lane, into: &result)
        case .installationList: try listInstallations(query, in: lane, into: &result)
        case .people: try findPeople(query, in: lane, into: &result)
        case .erasures:
            for name in query.names {
                try budget.spendRow()
                if let recipient = Recipient(text: name) {
                    try findErasure(of: recipient, query: query, in: lane, into: &result)
                }
            }
        case .pushes:
            // The receipts of a recipient are in the lane of its registry rows.
            let recipients = query.names.compactMap { Recipient(text: $0) }.filter {
                let key = RegistryKey.partitionKey(app: query.app, recipient: $0)
                return Murmur2.partition(forKey: key.span, partitionCount: laneCount) == Int(lane.partition)
            }
            if recipients.isEmpty { return }
            let found = try PushFinder(lane: lane, reader: reader, budget: budget).newest(
                limit: query.limit, to: recipients, on: query.installation, app: query.app)
            result.pushes = found.pushes
            if !found.isComplete { result.limit = .time }
        case .events:
            let list = try eventReader(of: lane).events(for: query, lane: lane.partition, budget: budget)
            result.events = list.entries
            if let cut = list.cut { result.cuts = [cut] }
        case .counts:
            let list = try countEvents(for: query, in: lane)
            (result.eventCounts, result.cutHour) = (list.counts, list.cutHour)
        case .taps: result.taps = try eventReader(of: lane).taps(for: query, budget: budget)
        case .audit, .auditSends:
            try list(
                for: query, topic: query.kind == .audit ? .audit : .auditSends, table: .rows,
                prefix: AuditRowMapping.timePrefix(app: query.app), in: lane
            ) { position, value in
                guard let entry = AuditEntry.decodeIfValid(value, with: reader),
                    query.author.map({ $0 == entry.author }) ?? true,
                    query.code.map({ $0 == entry.action }) ?? true,
                    query.subject.map({ $0 == entry.subject }) ?? true
                else { return nil }
                return ListEntry(position: position, value: entry)
            } into: {
                result.audit.append($0)
            } onCut: {
                result.cuts = [$0]
            }
        }
    }

    /// Counts events by hour. Counts by user leave out what was erased.
    private func countEvents(for query: LaneQuery, in lane: OpenLane) throws -> EventReader.CountList {
        let reader = try eventReader(of: lane)
        guard query.countsUsers else { return try reader.counts(for: query, budget: budget) }
        var erasures: [String: Int64] = [:]
        return try reader.countsByUser(for: query, lane: lane.partition, budget: budget) { user in
            if let known = erasures[user] { return known }
            let erasedUpTo = try erasure(of: .user(user), app: query.app, in: lane)?.received ?? 0
            erasures[user] = erasedUpTo
            return erasedUpTo
        }
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
            return [UInt8](
                copying: value.extracting(droppingFirst: min(RetentionSweep.timeByteCount, value.count)))
        }
    }

    /// Returns the rows of a key range in order.
    func rows(
        within range: KeyRange, topic: InsightTopic, table: RowTable, in lane: OpenLane, max: Int
    ) throws(StoreError) -> [(key: [UInt8], value: [UInt8])] {
        guard let file = lane.rowEnvironments[topic], max > 0 else { return [] }
        var result: [(key: [UInt8], value: [UInt8])] = []
        var range = range
        _ = try file.read { view throws(StoreError) in
            try view.readPage(of: file.table(named: table.rawValue), range: &range, rowsMax: max) {
                key, stored in
                guard RowChecksum.isValid(key: key, stored: stored) else { return }
                let value = stored.extracting(
                    droppingFirst: min(RowChecksum.byteCount + RetentionSweep.timeByteCount, stored.count))
                result.append(([UInt8](copying: key), [UInt8](copying: value)))
            }
        }
        return result
    }

    /// Passes on the rows of a table in time order, newest first, from the query's position on.
    ///
    /// - Parameters:
    ///   - prefix: The part of the keys before the time.
    ///   - read: Makes an entry of a row. Rows without an entry do not count for the query's limit.
    ///   - onCut: Receives the position of the last row if the budget ends the list early.
    func list<Value>(
        for query: LaneQuery, topic: InsightTopic, table: RowTable, prefix: [UInt8], in lane: OpenLane,
        read: (ListPosition, [UInt8]) throws -> Value?, into append: (Value) -> Void,
        onCut: (ListPosition) -> Void
    ) throws {
        var lastRead: ListPosition?
        var lower = prefix + RowKey.newestFirst(time: query.to - 1)
        if let after = query.after, after.at < query.to {
            // The zero byte makes the first key behind the position.
            lower = prefix + RowKey.newestFirst(time: after.at) + after.tieBreaker + [0]
        }
        var range = KeyRange(from: lower, upTo: KeyRange(prefix: prefix).upper)
        var remaining = query.limit
        while remaining > 0 {
            let page = try rows(
                within: range, topic: topic, table: table, in: lane, max: min(remaining, Self.pageRowsMax))
            for (key, value) in page {
                guard let at = RowKey.time(in: key.span, after: prefix.count), at >= query.from else {
                    return
                }
                guard budget.countRow() else {
                    // Without any progress the next page would end here again.
                    guard let lastRead else { throw QueryLimit.time }
                    return onCut(lastRead)
                }
                let position = ListPosition(at: at, tieBreaker: Array(key.dropFirst(prefix.count + 8)))
                lastRead = position
                if let entry = try read(position, value) {
                    append(entry)
                    remaining -= 1
                }
                range.advance(past: key.span)
            }
            if page.count < min(remaining, Self.pageRowsMax) || page.isEmpty { return }
        }
    }

    /// Returns a reader of the lane's current event file.
    private func eventReader(of lane: OpenLane) throws -> EventReader {
        let openReader = eventReaders[lane.partition]
        if let openReader, openReader.openingID == lane.openingID { return openReader }
        let newReader = try EventReader(lane: lane)
        eventReaders[lane.partition] = newReader
        return newReader
    }
}
