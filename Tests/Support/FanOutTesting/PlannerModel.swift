internal import FanOut
package import IngestTesting
internal import JSON
internal import Kafka
internal import LiveActivity
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
    private typealias Bag = [[UInt8]: Int]

    private let lanes: Int
    private let reader = JSONReader(limits: Expansion.limits)
    private var rows = Rows()
    private var progress: Bag = [:]
    private var expansions: [Int32: Bag] = [:]
    private var schedules: Bag = [:]
    /// The sends to busy groups. Each must have an outcome.
    private var busy: Set<String> = []
    package private(set) var sends = 0
    package private(set) var misfits: Set<String> = []

    package init(_ sends: TopicContent, lanes: Int) throws {
        self.lanes = lanes
        let planner = Planner(lanes: lanes) { app, recipient in Self.lane(of: recipient, app: app, lanes) }
        for record in sends.records {
            guard let value = record.value, let request = try? SendRequest.decode(value, with: reader),
                let key = request.scopeKey,
                Murmur2.partition(forKey: key.bytes.span, partitionCount: lanes) == Int(record.partition)
            else {
                misfits.insert("\(record.partition)/\(record.offset)")
                continue
            }
            self.sends += 1
            if SendMix.isBusy(key) {
                if case .send(let send) = request { busy.insert(send.id) }
                continue
            }
            var app: App?
            if case .send(let send) = request { app = IngestBed.apps[send.app] }
            take(try planner.plan(request, stamp: record.timestamp, app: app, in: &rows))
        }
    }

    private static func lane(of recipient: Recipient, app: String, _ lanes: Int) -> Int {
        Murmur2.partition(forKey: RecordKey.join(app, recipient.text).span, partitionCount: lanes)
    }

    private mutating func take(_ plan: Plan) {
        for one in plan.progress { progress[one.encoded(), default: 0] += 1 }
        for part in plan.expansions {
            let value = part.expansion.encoded()
            for lane in part.lane.map({ $0..<$0 + 1 }) ?? 0..<lanes {
                expansions[Int32(lane), default: [:]][value, default: 0] += 1
            }
        }
        if let schedule = plan.autoEnd { schedules[schedule.encoded(), default: 0] += 1 }
    }

    /// Returns the fault, or nil if everything is right.
    package func fault(in bed: IngestBed) throws -> String? {
        try faultOfRows(TopicContent(.groups, bed))
            ?? faultOfRest(
                progress: TopicContent(.progress, bed), whole: TopicContent(.expansions, bed),
                urgent: TopicContent(.expansionsUrgent, bed), schedules: TopicContent(.schedulesAuto, bed))
    }

    private func faultOfRows(_ groups: TopicContent) throws -> String? {
        var found = groups.newest
        for (key, row) in rows.rows {
            guard let bytes = found.removeValue(forKey: key.bytes) else { return "missing row of \(key)" }
            if bytes != row.encoded() {
                return "the row of \(key) is \(text(bytes)) and must be \(text(row.encoded()))"
            }
        }
        for (key, row) in rows.seen where found.removeValue(forKey: key) != row.encoded() {
            return "missing row of \(text(key))"
        }
        for (key, value) in found {
            let group = unsafe key.withUnsafeBytes { unsafe ScopeKey(bytes: $0) }
            guard let group, SendMix.isBusy(group) else { return "unexpected row: \(text(key))" }
            if try GroupRow.decode(value, with: reader).heldSend != nil {
                return "\(group) still holds a send"
            }
        }
        return nil
    }

    private func faultOfRest(
        progress: TopicContent, whole: TopicContent, urgent: TopicContent, schedules: TopicContent
    ) throws -> String? {
        var said: [String: [ProgressRecord.PlannerPart]] = [:]
        var found: Bag = [:]
        for record in progress.records {
            let one = try ProgressRecord.decode(record.value ?? [], with: reader)
            guard case .planner(let part) = one.part else { return "a progress record comes from a lane" }
            if SendMix.isBusy(one.key) {
                said[one.send, default: []].append(part)
            } else {
                found[record.value ?? [], default: 0] += 1
            }
        }
        if let fault = difference(found, self.progress) { return "progress: \(fault)" }
        var lanes: [Int32: Bag] = [:]
        var expanded: [String: [Int32: Int]] = [:]
        for record in whole.records + urgent.records {
            let value = record.value ?? []
            guard case .expansion(let expansion) = try ExpansionRequest.decode(value, with: reader) else {
                continue
            }
            if SendMix.isBusy(expansion.key) {
                expanded[expansion.send, default: [:]][record.partition, default: 0] += 1
            } else {
                lanes[record.partition, default: [:]][value, default: 0] += 1
            }
        }
        for lane in Set(lanes.keys).union(expansions.keys) {
            if let fault = difference(lanes[lane] ?? [:], expansions[lane] ?? [:]) {
                return "lane \(lane): \(fault)"
            }
        }
        let ends = schedules.records.reduce(into: Bag()) { $0[$1.value ?? [], default: 0] += 1 }
        if let fault = difference(ends, self.schedules) { return "schedules: \(fault)" }
        for send in busy {
            if let fault = faultOfBusy(send, said: said[send] ?? [], expanded: expanded[send] ?? [:]) {
                return fault
            }
        }
        return nil
    }

    /// Checks that a send to a busy group has one outcome, and that each lane got a planned send once.
    private func faultOfBusy(
        _ send: String, said: [ProgressRecord.PlannerPart], expanded: [Int32: Int]
    ) -> String? {
        let ends = said.filter { $0.verdict != .held && $0.verdict != .stopping }
        guard ends.count == 1, let end = ends.first else {
            return "\(send) has the outcomes \(said.map(\.verdict)), expected one"
        }
        let wanted = end.verdict == .planned ? end.laneCount : 0
        guard expanded.count == wanted, expanded.values.allSatisfy({ $0 == 1 }) else {
            return "\(send) has \(expanded) expansions, expected \(wanted)"
        }
        return nil
    }

    private func difference(_ found: Bag, _ wanted: Bag) -> String? {
        for (value, count) in wanted where found[value] != count {
            return "\(found[value] ?? 0) times instead of \(count): \(text(value))"
        }
        for (value, count) in found where wanted[value] == nil {
            return "\(count) times instead of 0: \(text(value))"
        }
        return nil
    }

    private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
}
