internal import CatalogRecords
internal import Identifiers
internal import InstallationRecords
internal import JSON
internal import Kafka
internal import RecordFormat
internal import Store

/// The answers of the lanes whose files are open here. It is confined to one thread, which is not the thread
/// that writes the files.
final class LaneReader {
    private let openLanes: OpenLanes
    private let lanes: Int
    let reader = JSONReader(limits: JSONLimits(bytesMax: 16 << 20, keysMax: 4_000_000))
    private var events: [Int32: EventReader] = [:]

    /// - Parameter lanes: The number of all lanes.
    init(openLanes open: OpenLanes, lanes: Int) {
        self.openLanes = open
        self.lanes = lanes
    }

    /// Returns the rows of all open lanes. A lane that cannot be read now is missing from `lanes`.
    func answer(_ question: LaneQuery) -> QueryResult {
        var all = QueryResult()
        for lane in openLanes.all {
            var found = QueryResult()
            do {
                try find(question, in: lane, into: &found)
            } catch {
                continue
            }
            found.lanes = [Int(lane.partition)]
            found.asOf = lane.asOf
            all.merge(found)
        }
        if question.kind.isList { all.keepFirst(question.limit, isOldestFirst: question.isOldestFirst) }
        return all
    }

    private func find(_ question: LaneQuery, in lane: OpenLane, into found: inout QueryResult) throws {
        switch question.kind {
        case .sends:
            for send in question.names { try findSend(send, of: question.app, in: lane, into: &found) }
        case .sendList: try listSends(question, in: lane, into: &found)
        case .groupList: try listGroups(question, in: lane, into: &found)
        case .groups: try findGroups(question, in: lane, into: &found)
        case .running:
            for group in question.names {
                let key = InstallationRowMapping.runningCountKey(of: group, app: question.app)
                guard let count = try value(of: key, topic: .installations, table: .counts, in: lane) else {
                    continue
                }
                found.running[group] = Int(BigEndian.number(in: count.span, at: 0))
            }
        case .people: try findPeople(question, in: lane, into: &found)
        case .erasures:
            for name in question.names {
                if let recipient = Recipient(text: name) {
                    try findErasure(of: recipient, query: question, in: lane, into: &found)
                }
            }
        case .pushes:
            let recipients = question.names.compactMap { Recipient(text: $0) }.filter {
                let key = RegistryKey.partitionKey(app: question.app, recipient: $0)
                return Murmur2.partition(forKey: key.span, partitionCount: lanes) == Int(lane.partition)
            }
            if recipients.isEmpty { return }
            found.pushes = try PushFinder(lane: lane, reader: reader).newest(
                limit: question.limit, to: recipients, on: question.installation, app: question.app)
        case .events: found.events = try events(of: lane).events(for: question, lane: lane.partition)
        case .counts: found.counts = try events(of: lane).counts(for: question)
        case .taps: found.taps = try events(of: lane).taps(for: question)
        case .audit:
            try list(
                for: question, topic: .audit, table: .rows,
                prefix: AuditRowMapping.timePrefix(app: question.app), in: lane
            ) { place, value in
                AuditEntry.decodeIfValid(value, with: reader).map { ListEntry(position: place, value: $0) }
            } into: {
                found.audit.append($0)
            }
        }
    }

    // MARK: Rows

    /// Returns the value of a row without its time.
    func value(
        of key: [UInt8], topic: InsightTopic, table: RowTable, in lane: OpenLane
    ) throws(StoreError) -> [UInt8]? {
        guard let file = lane.rows[topic] else { return nil }
        return try file.read { view throws(StoreError) in
            guard let value = try view.value(of: key.span, in: file.table(named: table.rawValue)) else {
                return nil
            }
            return [UInt8](
                copying: value.extracting(droppingFirst: min(RetentionSweep.timeBytes, value.count)))
        }
    }

    /// Returns the rows of a key range in order.
    func rows(
        within range: KeyRange, topic: InsightTopic, table: RowTable, in lane: OpenLane, max: Int
    ) throws(StoreError) -> [(key: [UInt8], value: [UInt8])] {
        guard let file = lane.rows[topic], max > 0 else { return [] }
        var found: [(key: [UInt8], value: [UInt8])] = []
        var range = range
        _ = try file.read { view throws(StoreError) in
            try view.readPage(of: file.table(named: table.rawValue), range: &range, rowsMax: max) {
                key, stored in
                guard RowChecksum.isValid(key: key, stored: stored) else { return }
                let value = stored.extracting(
                    droppingFirst: min(RowChecksum.byteCount + RetentionSweep.timeBytes, stored.count))
                found.append(([UInt8](copying: key), [UInt8](copying: value)))
            }
        }
        return found
    }

    /// Passes on the rows of a table in time order, newest first, from the question's position on.
    func list<Value>(
        for question: LaneQuery, topic: InsightTopic, table: RowTable, prefix: [UInt8], in lane: OpenLane,
        read: (ListPosition, [UInt8]) throws -> Value?, into take: (Value) -> Void
    ) throws {
        let whole = KeyRange(prefix: prefix)
        var lower = prefix + RowKey.newestFirst(time: question.to - 1)
        if let after = question.after, after.at < question.to {
            lower = prefix + RowKey.newestFirst(time: after.at) + after.tieBreaker + [0]
        }
        var range = KeyRange(from: lower, upTo: whole.upper)
        var left = question.limit
        while left > 0 {
            let page = try rows(within: range, topic: topic, table: table, in: lane, max: min(left, 500))
            for (key, value) in page {
                guard let at = RowKey.time(in: key.span, after: prefix.count), at >= question.from else {
                    return
                }
                let place = ListPosition(at: at, rest: Array(key.dropFirst(prefix.count + 8)))
                if let one = try read(place, value) {
                    take(one)
                    left -= 1
                }
                range.advance(past: key.span)
            }
            if page.count < min(left, 500) || page.isEmpty { return }
        }
    }

    private func events(of lane: OpenLane) throws -> EventReader {
        if let known = events[lane.partition], known.openingID == lane.openingID { return known }
        let made = try EventReader(lane: lane)
        events[lane.partition] = made
        return made
    }
}
