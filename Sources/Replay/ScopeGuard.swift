internal import JSON
internal import Kafka
internal import LiveActivity
internal import Topics

/// What the ledger of a lane says about jobs that are to be sent once more: whether something newer is there,
/// whether their scope has ended, whether the phone was started since. A sender asks `superseded` again; of a
/// recipient's own scope, and of starts, only the ledger knows.
struct ScopeGuard {
    private struct Row {
        var version: Int64 = 0
        var endedAt: Int64 = 0
        var cancelled: Set<String> = []
    }

    /// Keys of `starts` that somebody asks about: those of scopes and those of starts.
    private var rows: [[UInt8]: Row] = [:]
    private let reader = JSONReader()

    /// Keys that are asked for at a time.
    static let keysMax = 100_000

    var isFull: Bool { rows.count >= Self.keysMax }

    /// Which lines of a sheet are to be judged.
    mutating func ask(_ head: SheetHead, _ jobs: [Addressee]) {
        guard let group = head.group else {
            for job in jobs { if let key = Self.activity(head, of: job) { rows[key] = Row() } }
            return
        }
        rows[RecordKey.join(head.app, group)] = Row()
        for job in jobs {
            rows[Self.scope(head, of: job, in: group)] = Row()
            if head.event == .start { rows[Self.start(head, of: job, in: group)] = Row() }
        }
    }

    /// Reads what was asked for.
    mutating func read(_ box: LetterBox, lane: Int32) throws {
        guard !rows.isEmpty else { return }
        try box.scan(.starts, in: lane) { record in
            guard let key = [UInt8](copying: record.key), rows[key] != nil else { return }
            rows[key] = [UInt8](copying: record.value).map(row) ?? Row()
        }
    }

    private func row(_ value: [UInt8]) -> Row {
        if let scope = try? LaneScope.decode(value, with: reader) {
            return Row(
                version: scope.newest?.version ?? 0, endedAt: scope.endedAt, cancelled: Set(scope.cancelled))
        }
        if let start = try? LedgerRow.decode(value, with: reader) {
            return Row(version: start.version, endedAt: start.endedAt)
        }
        return Row()
    }

    /// Why a job is not sent again; nil when it may be.
    func objection(to head: SheetHead, _ job: Addressee, now: Int64) -> Objection? {
        // The sender would receipt it as expired before the tier is through.
        if head.deadline <= (now + Self.tierMilliseconds) / 1000 { return .expired }
        if head.event == .end { return nil }
        let (whole, own) = known(head, job)
        if whole.cancelled.contains(head.send) || own.cancelled.contains(head.send) { return .cancelled }
        if max(whole.endedAt, own.endedAt) > head.version { return .ended }
        switch head.event {
        case .end: return nil
        case .start:
            guard let group = head.group else { return nil }
            let start = rows[Self.start(head, of: job, in: group)] ?? Row()
            return start.version > head.version || start.endedAt > 0 ? .startedSince : nil
        case .update:
            guard head.conflate else { return nil }
            return max(whole.version, own.version) > head.version ? .newer : nil
        }
    }

    /// Of the whole group and of the recipient alone; of an activity without a group, its own.
    private func known(_ head: SheetHead, _ job: Addressee) -> (whole: Row, own: Row) {
        guard let group = head.group else {
            return (Row(), Self.activity(head, of: job).flatMap { rows[$0] } ?? Row())
        }
        return (
            rows[RecordKey.join(head.app, group)] ?? Row(),
            rows[Self.scope(head, of: job, in: group)] ?? Row()
        )
    }

    private static func activity(_ head: SheetHead, of job: Addressee) -> [UInt8]? {
        guard job.entry.hasPrefix("update:") else { return nil }
        return GroupKey(app: head.app, activity: String(job.entry.dropFirst("update:".count))).bytes
    }

    private static let tierMilliseconds: Int64 = 5_000

    private static func scope(_ head: SheetHead, of job: Addressee, in group: String) -> [UInt8] {
        RecordKey.join(head.app, group, job.recipient)
    }

    private static func start(_ head: SheetHead, of job: Addressee, in group: String) -> [UInt8] {
        RecordKey.join(
            head.app, group, job.recipient, String(head.generation), job.installation)
    }
}

typealias Addressee = ReceiptLines.Addressee
