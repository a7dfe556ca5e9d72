internal import Identifiers
internal import JSON
internal import Jobs
internal import Kafka
internal import Payloads
internal import RecordFormat
internal import Sends
internal import Topics

/// A check of jobs against the ledger of a lane: whether there is a newer version, whether the scope has
/// ended, and whether another job has started the phone. The sender checks `superseded` again before a push,
/// but only the ledger knows a recipient's own scope and the starts.
struct ScopeVersionCheck {
    private struct Row {
        var version: Int64 = 0
        var endVersion: Int64 = 0
        var cancelled: Set<String> = []
    }

    /// The requested keys of the topic `starts`: scopes and starts.
    private var rows: [[UInt8]: Row] = [:]
    private let reader = JSONReader()

    /// The keys that are held at the same time.
    static let keysMax = 100_000

    var isFull: Bool { rows.count >= Self.keysMax }

    /// Requests the keys of a sheet's jobs.
    mutating func requestRows(for head: SheetHead, jobs: [Addressee]) {
        guard let group = head.group else {
            for job in jobs { if let key = Self.activityKey(for: head, of: job) { rows[key] = Row() } }
            return
        }
        rows[RecordKey.join(head.app, group)] = Row()
        for job in jobs {
            rows[Self.scopeKey(for: head, of: job, in: group)] = Row()
            if head.event == .start { rows[Self.startKey(for: head, of: job, in: group)] = Row() }
        }
    }

    /// Reads the rows of the requested keys.
    mutating func read(from box: DeadLetterTopic, lane: Int32) throws {
        guard !rows.isEmpty else { return }
        try box.scan(.starts, in: lane) { record in
            guard let key = [UInt8](copying: record.key), rows[key] != nil else { return }
            rows[key] = [UInt8](copying: record.value).map(row) ?? Row()
        }
    }

    private func row(from value: [UInt8]) -> Row {
        if let scope = try? LaneScope.decode(value, with: reader) {
            return Row(
                version: scope.newestState?.version ?? 0, endVersion: scope.endVersion,
                cancelled: Set(scope.cancelledSends))
        }
        if let start = try? LedgerRow.decode(value, with: reader) {
            return Row(version: start.version, endVersion: start.safetyEndVersion)
        }
        return Row()
    }

    /// Returns the reason not to send a job again, or nil.
    func skipReason(for head: SheetHead, job: Addressee, now: Int64) -> ReplaySkipReason? {
        // The job would expire before it leaves the later tier.
        if head.deadline <= (now + Self.retryTierMilliseconds) / 1000 { return .expired }
        if head.event == .end { return nil }
        let (whole, own) = knownRows(for: head, job: job)
        if whole.cancelled.contains(head.send) || own.cancelled.contains(head.send) { return .cancelled }
        if max(whole.endVersion, own.endVersion) > head.version { return .ended }
        switch head.event {
        case .end: return nil
        case .start:
            guard let group = head.group else { return nil }
            let start = rows[Self.startKey(for: head, of: job, in: group)] ?? Row()
            return start.version > head.version || start.endVersion > 0 ? .startedSince : nil
        case .update:
            guard head.isConflatable else { return nil }
            return max(whole.version, own.version) > head.version ? .newer : nil
        }
    }

    /// Returns the rows of the whole group and of the recipient. An activity without a group has only its own
    /// row.
    private func knownRows(for head: SheetHead, job: Addressee) -> (whole: Row, own: Row) {
        guard let group = head.group else {
            return (Row(), Self.activityKey(for: head, of: job).flatMap { rows[$0] } ?? Row())
        }
        return (
            rows[RecordKey.join(head.app, group)] ?? Row(),
            rows[Self.scopeKey(for: head, of: job, in: group)] ?? Row()
        )
    }

    private static func activityKey(for head: SheetHead, of job: Addressee) -> [UInt8]? {
        guard job.entry.hasPrefix("update:") else { return nil }
        return ScopeKey(app: head.app, activity: String(job.entry.dropFirst("update:".count))).bytes
    }

    private static let retryTierMilliseconds: Int64 = 5_000

    private static func scopeKey(for head: SheetHead, of job: Addressee, in group: String) -> [UInt8] {
        RecordKey.join(head.app, group, job.recipient)
    }

    private static func startKey(for head: SheetHead, of job: Addressee, in group: String) -> [UInt8] {
        RecordKey.join(
            head.app, group, job.recipient, String(head.generation), job.installation)
    }
}

typealias Addressee = ReceiptLines.Addressee
