internal import CatalogRecords
internal import FanOut
internal import Identifiers
package import IngestTesting
internal import JSON
internal import Kafka
internal import RecordFormat
internal import Sends
internal import Store
internal import Topics

/// The expected output of the planner for `sends`: the pure planner applied to the topic in one process
/// without crashes. The output must be equal if no send waits for the clock. For sends that wait, the model
/// checks properties of each send.
package struct PlannerModel {
    private struct Rows: GroupTable {
        var rows: [ScopeKey: GroupRow] = [:]
        var seen: [[UInt8]: SendIdempotencyRow] = [:]

        func row(of key: ScopeKey) throws(StoreError) -> GroupRow? { rows[key] }
        func seenSend(id send: String, app: String) throws(StoreError) -> SendIdempotencyRow? {
            seen[SendIdempotencyRow.key(app: app, send: send)]
        }
        mutating func set(_ row: GroupRow, of key: ScopeKey) { rows[key] = row }
        mutating func set(_ seen: SendIdempotencyRow, send: String, app: String) {
            self.seen[SendIdempotencyRow.key(app: app, send: send)] = seen
        }
    }

    /// The expected number of each record, by its bytes.
    private typealias RecordCounts = [[UInt8]: Int]

    private let lanes: Int
    private let reader = JSONReader(limits: Expansion.limits)
    private var rows = Rows()
    private var progress: RecordCounts = [:]
    private var expansions: [Int32: RecordCounts] = [:]
    private var schedules: RecordCounts = [:]
    /// The sends to busy groups. Each must have an outcome.
    private var busyGroupSends: Set<String> = []
    package private(set) var sendCount = 0
    package private(set) var rejectedPositions: Set<String> = []

    package init(sends: TopicContent, lanes: Int) throws {
        self.lanes = lanes
        let planner = Planner(lanes: lanes) { app, recipient in
            Self.lane(of: recipient, app: app, lanes: lanes)
        }
        for record in sends.records {
            guard let value = record.value, let request = try? SendRequest.decode(value, with: reader),
                let key = request.scopeKey,
                Murmur2.partition(forKey: key.bytes.span, partitionCount: lanes) == Int(record.partition)
            else {
                rejectedPositions.insert("\(record.partition)/\(record.offset)")
                continue
            }
            self.sendCount += 1
            if SendGenerator.isBusy(key) {
                if case .send(let send) = request { busyGroupSends.insert(send.id) }
                continue
            }
            var app: App?
            if case .send(let send) = request { app = TestBed.apps[send.app] }
            apply(try planner.plan(request, stamp: record.timestamp, app: app, in: &rows))
        }
    }

    private static func lane(of recipient: Recipient, app: String, lanes: Int) -> Int {
        Murmur2.partition(forKey: RecordKey.join(app, recipient.text).span, partitionCount: lanes)
    }

    private mutating func apply(_ plan: Plan) {
        for one in plan.progress { progress[one.encoded(), default: 0] += 1 }
        for part in plan.expansions {
            let value = part.expansion.encoded()
            for lane in part.lanes.lanes(of: lanes) {
                expansions[Int32(lane), default: [:]][value, default: 0] += 1
            }
        }
        if let schedule = plan.autoEnd { schedules[schedule.encoded(), default: 0] += 1 }
    }

    /// Returns the fault, or nil if everything is right.
    package func fault(in bed: TestBed) throws -> String? {
        try fault(inGroups: TopicContent(of: .groups, in: bed))
            ?? fault(
                inProgress: TopicContent(of: .progress, in: bed),
                expansions: TopicContent(of: .expansions, in: bed),
                urgent: TopicContent(of: .expansionsUrgent, in: bed),
                schedules: TopicContent(of: .schedulesAuto, in: bed))
    }

    private func fault(inGroups groups: TopicContent) throws -> String? {
        var found = groups.newestValues
        for (key, row) in rows.rows {
            guard let bytes = found.removeValue(forKey: key.bytes) else { return "missing row of \(key)" }
            if bytes != row.encoded() {
                return "the row of \(key) is \(text(of: bytes)) and must be \(text(of: row.encoded()))"
            }
        }
        for (key, row) in rows.seen where found.removeValue(forKey: key) != row.encoded() {
            return "missing row of \(text(of: key))"
        }
        for (key, value) in found {
            let group = unsafe key.withUnsafeBytes { unsafe ScopeKey(bytes: $0) }
            guard let group, SendGenerator.isBusy(group) else { return "unexpected row: \(text(of: key))" }
            if try GroupRow.decode(value, with: reader).heldSend != nil {
                return "\(group) still holds a send"
            }
        }
        return nil
    }

    private func fault(
        inProgress: TopicContent, expansions: TopicContent, urgent: TopicContent, schedules: TopicContent
    ) throws -> String? {
        var partsOfSends: [String: [ProgressRecord.PlannerPart]] = [:]
        var found: RecordCounts = [:]
        for record in inProgress.records {
            let decoded = try ProgressRecord.decode(record.value ?? [], with: reader)
            guard case .planner(let part) = decoded.part else { return "a progress record comes from a lane" }
            if SendGenerator.isBusy(decoded.key) {
                partsOfSends[decoded.send, default: []].append(part)
            } else {
                found[record.value ?? [], default: 0] += 1
            }
        }
        if let fault = difference(found: found, expected: self.progress) { return "progress: \(fault)" }
        var lanes: [Int32: RecordCounts] = [:]
        var expanded: [String: [Int32: Int]] = [:]
        for record in expansions.records + urgent.records {
            let value = record.value ?? []
            guard case .expansion(let expansion) = try ExpansionRequest.decode(value, with: reader) else {
                continue
            }
            if SendGenerator.isBusy(expansion.key) {
                expanded[expansion.send, default: [:]][record.partition, default: 0] += 1
            } else {
                lanes[record.partition, default: [:]][value, default: 0] += 1
            }
        }
        for lane in Set(lanes.keys).union(self.expansions.keys) {
            if let fault = difference(found: lanes[lane] ?? [:], expected: self.expansions[lane] ?? [:]) {
                return "lane \(lane): \(fault)"
            }
        }
        let ends = schedules.records.reduce(into: RecordCounts()) { $0[$1.value ?? [], default: 0] += 1 }
        if let fault = difference(found: ends, expected: self.schedules) { return "schedules: \(fault)" }
        for send in busyGroupSends {
            if let fault = fault(
                ofBusyGroupSend: send, parts: partsOfSends[send] ?? [], expanded: expanded[send] ?? [:])
            {
                return fault
            }
        }
        return nil
    }

    /// Checks that a send to a busy group has one outcome, and that each lane got a planned send once.
    private func fault(
        ofBusyGroupSend send: String, parts: [ProgressRecord.PlannerPart], expanded: [Int32: Int]
    ) -> String? {
        let ends = parts.filter { $0.verdict != .held && $0.verdict != .stopping }
        guard ends.count == 1, let end = ends.first else {
            return "\(send) has the outcomes \(parts.map(\.verdict)), expected one"
        }
        let expected = end.verdict == .planned ? end.laneCount : 0
        guard expanded.count == expected, expanded.values.allSatisfy({ $0 == 1 }) else {
            return "\(send) has \(expanded) expansions, expected \(expected)"
        }
        return nil
    }

    private func difference(found: RecordCounts, expected wanted: RecordCounts) -> String? {
        for (value, count) in wanted where found[value] != count {
            return "\(found[value] ?? 0) times instead of \(count): \(text(of: value))"
        }
        for (value, count) in found where wanted[value] == nil {
            return "\(count) times instead of 0: \(text(of: value))"
        }
        return nil
    }

    private func text(of bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
}
