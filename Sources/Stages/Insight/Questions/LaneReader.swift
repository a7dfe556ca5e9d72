internal import JSON
internal import Kafka
internal import LiveActivity
internal import Store

/// The answers of the lanes whose files are open here. It is confined to one thread, which is not the thread
/// that writes the files.
final class LaneReader {
    private let open: OpenLanes
    private let lanes: Int
    let reader = JSONReader(limits: JSONLimits(bytesMax: 16 << 20, keysMax: 4_000_000))
    private var events: [Int32: EventReader] = [:]

    /// - Parameter lanes: The number of all lanes.
    init(_ open: OpenLanes, lanes: Int) {
        self.open = open
        self.lanes = lanes
    }

    /// Returns the rows of all open lanes. A lane that cannot be read now is missing from `lanes`.
    func answer(_ question: Question) -> Findings {
        var all = Findings()
        for lane in open.all {
            var found = Findings()
            do {
                try find(question, in: lane, &found)
            } catch {
                continue
            }
            found.lanes = [Int(lane.partition)]
            found.asOf = lane.asOf
            all.add(found)
        }
        if question.kind.isList { all.keepFirst(question.limit, isOldestFirst: question.isOldestFirst) }
        return all
    }

    private func find(_ question: Question, in lane: OpenLane, _ found: inout Findings) throws {
        switch question.kind {
        case .sends:
            for send in question.names { try findSend(send, of: question.app, in: lane, &found) }
        case .sendList: try listSends(question, in: lane, &found)
        case .groupList: try listGroups(question, in: lane, &found)
        case .groups: try findGroups(question, in: lane, &found)
        case .running:
            for group in question.names {
                let key = InstallationForm.running(group, app: question.app)
                guard let count = try value(of: key, .installations, .counts, in: lane) else { continue }
                found.running[group] = Int(BigEndian.number(in: count.span, at: 0))
            }
        case .people: try findPeople(question, in: lane, &found)
        case .erasures:
            for name in question.names {
                if let recipient = Recipient(text: name) {
                    try findErasure(of: recipient, question, in: lane, &found)
                }
            }
        case .pushes:
            let recipients = question.names.compactMap { Recipient(text: $0) }.filter {
                let key = RegistryKey.lane(app: question.app, recipient: $0)
                return Murmur2.partition(of: key.span, of: lanes) == Int(lane.partition)
            }
            if recipients.isEmpty { return }
            found.pushes = try PushFinder(lane, reader: reader).newest(
                question.limit, to: recipients, on: question.installation, app: question.app)
        case .events: found.events = try events(of: lane).list(question, lane: lane.partition)
        case .counts: found.counts = try events(of: lane).counts(question)
        case .taps: found.taps = try events(of: lane).taps(question)
        case .audit:
            try list(
                for: question, .audit, .rows, prefix: AuditForm.byTime(app: question.app), in: lane
            ) { place, value in
                AuditEntry.read(value, with: reader).map { Listed(place: place, value: $0) }
            } into: {
                found.audit.append($0)
            }
        }
    }

    // MARK: Rows

    /// Returns the value of a row without its time.
    func value(
        of key: [UInt8], _ topic: InsightTopic, _ table: RowTable, in lane: OpenLane
    ) throws(StoreError) -> [UInt8]? {
        guard let file = lane.rows[topic] else { return nil }
        return try file.read { view throws(StoreError) in
            guard let value = try view.value(of: key.span, in: file.table(table.rawValue)) else { return nil }
            return [UInt8](copying: value.extracting(droppingFirst: min(Sweeps.timeBytes, value.count)))
        }
    }

    /// Returns the rows of a key range in order.
    func rows(
        within range: KeyRange, _ topic: InsightTopic, _ table: RowTable, in lane: OpenLane, max: Int
    ) throws(StoreError) -> [(key: [UInt8], value: [UInt8])] {
        guard let file = lane.rows[topic], max > 0 else { return [] }
        var found: [(key: [UInt8], value: [UInt8])] = []
        var range = range
        _ = try file.read { view throws(StoreError) in
            try view.page(of: file.table(table.rawValue), &range, rows: max) { key, stored in
                guard RowCheck.holds(key, stored) else { return }
                let value = stored.extracting(
                    droppingFirst: min(RowCheck.bytes + Sweeps.timeBytes, stored.count))
                found.append(([UInt8](copying: key), [UInt8](copying: value)))
            }
        }
        return found
    }

    /// Passes on the rows of a table in time order, newest first, from the question's position on.
    func list<Value>(
        for question: Question, _ topic: InsightTopic, _ table: RowTable, prefix: [UInt8], in lane: OpenLane,
        read: (ListPlace, [UInt8]) throws -> Value?, into take: (Value) -> Void
    ) throws {
        let whole = KeyRange(prefix: prefix)
        var lower = prefix + RowKey.newestFirst(question.to - 1)
        if let after = question.after, after.at < question.to {
            lower = prefix + RowKey.newestFirst(after.at) + after.rest + [0]
        }
        var range = KeyRange(from: lower, upTo: whole.upper)
        var left = question.limit
        while left > 0 {
            let page = try rows(within: range, topic, table, in: lane, max: min(left, 500))
            for (key, value) in page {
                guard let at = RowKey.time(in: key.span, behind: prefix.count), at >= question.from else {
                    return
                }
                let place = ListPlace(at: at, rest: Array(key.dropFirst(prefix.count + 8)))
                if let one = try read(place, value) {
                    take(one)
                    left -= 1
                }
                range.advance(behind: key.span)
            }
            if page.count < min(left, 500) || page.isEmpty { return }
        }
    }

    private func events(of lane: OpenLane) throws -> EventReader {
        if let known = events[lane.partition], known.opening == lane.opening { return known }
        let made = try EventReader(lane)
        events[lane.partition] = made
        return made
    }
}
