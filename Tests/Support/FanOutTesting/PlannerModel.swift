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

/// The expected output of the planner stage for the records of `sends`: the pure `Planner`, applied to the topic in one
/// process without crashes.
///
/// For quiet groups (`SendGenerator`) the output must be equal, because no send waits for the clock. The output for
/// busy groups depends on the clock. So the model only checks that each of their sends has one outcome.
package struct PlannerModel {
    /// The rows of `groups`, in memory.
    private struct Rows: GroupTable {
        var groupRows: [ScopeKey: GroupRow] = [:]
        var idempotencyRows: [[UInt8]: SendIdempotencyRow] = [:]
        var subscribedGroups: [String: SubscribedGroups] = [:]

        func row(of key: ScopeKey) throws(StoreError) -> GroupRow? { groupRows[key] }
        func seenSend(id send: String, app: String) throws(StoreError) -> SendIdempotencyRow? {
            idempotencyRows[SendIdempotencyRow.key(app: app, send: send)]
        }
        func subscribedGroups(of app: String) throws(StoreError) -> SubscribedGroups? {
            subscribedGroups[app]
        }
        mutating func set(_ row: GroupRow, of key: ScopeKey) { groupRows[key] = row }
        mutating func set(_ groups: SubscribedGroups, of app: String) { subscribedGroups[app] = groups }
        mutating func set(_ seen: SendIdempotencyRow, send: String, app: String) {
            idempotencyRows[SendIdempotencyRow.key(app: app, send: send)] = seen
        }
    }

    /// The number of records with the same bytes.
    private typealias RecordCounts = [[UInt8]: Int]

    private let lanes: Int
    private let reader = JSONReader(limits: Expansion.limits)

    // The expected output for quiet groups.
    private var rows = Rows()
    private var progressCounts: RecordCounts = [:]
    private var expansionCounts: [Int32: RecordCounts] = [:]
    private var scheduleCounts: RecordCounts = [:]

    /// The sends to busy groups. Each must have one outcome.
    private var busyGroupSends: Set<String> = []
    package private(set) var sendCount = 0
    /// The positions of the records that must become dead letters, as partition/offset.
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
        for record in plan.progress { progressCounts[record.encoded(), default: 0] += 1 }
        for planned in plan.requests {
            guard case .expansion(let expansion) = planned.request else { continue }
            let value = expansion.encoded()
            for lane in planned.lanes.lanes(of: lanes) {
                expansionCounts[Int32(lane), default: [:]][value, default: 0] += 1
            }
        }
        if let schedule = plan.autoEnd { scheduleCounts[schedule.encoded(), default: 0] += 1 }
    }

    /// Returns the first fault in the planner's topics, or nil if they are right.
    package func fault(in bed: TestBed) throws -> String? {
        try fault(inGroups: TopicContent(of: .groups, in: bed))
            ?? fault(
                inProgress: TopicContent(of: .progress, in: bed),
                expansions: TopicContent(of: .expansionsUrgent, in: bed),
                schedules: TopicContent(of: .schedulesAuto, in: bed))
    }

    private func fault(inGroups groups: TopicContent) throws -> String? {
        var writtenRows = groups.newestValues
        for (key, row) in rows.groupRows {
            guard let bytes = writtenRows.removeValue(forKey: key.bytes) else {
                return "missing row of \(key)"
            }
            if bytes != row.encoded() {
                return "the row of \(key) is \(text(of: bytes)) and must be \(text(of: row.encoded()))"
            }
        }
        for (key, row) in rows.idempotencyRows where writtenRows.removeValue(forKey: key) != row.encoded() {
            return "missing or wrong row of \(text(of: key))"
        }
        // The other rows must belong to busy groups.
        for (key, value) in writtenRows {
            let group = unsafe key.withUnsafeBytes { unsafe ScopeKey(bytes: $0) }
            guard let group, SendGenerator.isBusy(group) else { return "unexpected row: \(text(of: key))" }
            if try GroupRow.decode(value, with: reader).heldSend != nil {
                return "\(group) still holds a send"
            }
        }
        return nil
    }

    private func fault(
        inProgress progress: TopicContent, expansions: TopicContent, schedules: TopicContent
    ) throws -> String? {
        var busyGroupParts: [String: [ProgressRecord.PlannerPart]] = [:]
        var writtenProgress: RecordCounts = [:]
        for record in progress.records {
            let decoded = try ProgressRecord.decode(record.value ?? [], with: reader)
            guard case .planner(let part) = decoded.part else { return "a progress record comes from a lane" }
            if SendGenerator.isBusy(decoded.key) {
                busyGroupParts[decoded.send, default: []].append(part)
            } else {
                writtenProgress[record.value ?? [], default: 0] += 1
            }
        }
        if let fault = difference(actual: writtenProgress, expected: progressCounts) {
            return "progress: \(fault)"
        }

        // The number of expansions of each send to a busy group, by lane.
        var busyGroupExpansions: [String: [Int32: Int]] = [:]
        var writtenExpansions: [Int32: RecordCounts] = [:]
        for record in expansions.records {
            let value = record.value ?? []
            guard case .expansion(let expansion) = try ExpansionRequest.decode(value, with: reader) else {
                continue
            }
            if SendGenerator.isBusy(expansion.key) {
                busyGroupExpansions[expansion.send, default: [:]][record.partition, default: 0] += 1
            } else {
                writtenExpansions[record.partition, default: [:]][value, default: 0] += 1
            }
        }
        for lane in Set(writtenExpansions.keys).union(expansionCounts.keys) {
            if let fault = difference(
                actual: writtenExpansions[lane] ?? [:], expected: expansionCounts[lane] ?? [:])
            {
                return "lane \(lane): \(fault)"
            }
        }

        let writtenSchedules = schedules.records.reduce(into: RecordCounts()) {
            $0[$1.value ?? [], default: 0] += 1
        }
        if let fault = difference(actual: writtenSchedules, expected: scheduleCounts) {
            return "schedules: \(fault)"
        }
        for send in busyGroupSends {
            if let fault = fault(
                ofBusyGroupSend: send, parts: busyGroupParts[send] ?? [],
                expansionsByLane: busyGroupExpansions[send] ?? [:])
            {
                return fault
            }
        }
        return nil
    }

    /// Checks that a send to a busy group has one outcome, and that each of its lanes got a planned send once.
    private func fault(
        ofBusyGroupSend send: String, parts: [ProgressRecord.PlannerPart], expansionsByLane: [Int32: Int]
    ) -> String? {
        let finalParts = parts.filter { $0.verdict != .held && $0.verdict != .stopping }
        guard finalParts.count == 1, let finalPart = finalParts.first else {
            return "\(send) has the outcomes \(parts.map(\.verdict)), expected one"
        }
        let expectedLanes = finalPart.verdict == .planned ? finalPart.laneCount : 0
        let hasOnePerLane = expansionsByLane.values.allSatisfy { $0 == 1 }
        guard expansionsByLane.count == expectedLanes, hasOnePerLane else {
            return
                "\(send) has the expansions \(expansionsByLane) by lane, expected one in \(expectedLanes) lanes"
        }
        return nil
    }

    private func difference(actual: RecordCounts, expected: RecordCounts) -> String? {
        for (value, count) in expected where actual[value] != count {
            return "\(actual[value] ?? 0) times instead of \(count): \(text(of: value))"
        }
        for (value, count) in actual where expected[value] == nil {
            return "\(count) times instead of 0: \(text(of: value))"
        }
        return nil
    }

    private func text(of bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
}
