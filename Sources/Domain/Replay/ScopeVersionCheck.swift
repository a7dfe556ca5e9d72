internal import Identifiers
internal import JSON
internal import Jobs
internal import Kafka
internal import Payloads
internal import RecordFormat
internal import Sends
internal import Topics

/// A check that finds the jobs that must not be sent again, by the rows of the topic `starts` in one lane. A row is the
/// state of a scope (a group, a recipient in a group, or an activity) or the record of a start.
///
/// The sender checks `superseded` again before a push, but only these rows know the state of a single
/// recipient and the phones that were started. A caller requests the rows of several sheets, reads them once,
/// and then asks about each job.
struct ScopeVersionCheck {
    /// The limit of keys that are held at the same time.
    static let keysMax = 100_000

    /// The facts of a scope or of a start. All zero if the topic has no row.
    private struct Row {
        var version: Int64 = 0
        /// For a start: the version of the safety END (`LedgerRow.safetyEndVersion`).
        var endVersion: Int64 = 0
        var cancelledSends: Set<String> = []
    }

    /// The rows of the requested keys. Empty rows until they are read.
    private var rows: [[UInt8]: Row] = [:]
    private let reader = JSONReader()

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
    mutating func read(from deadLetters: DeadLetterTopic, lane: Int32) throws {
        guard !rows.isEmpty else { return }
        try deadLetters.scan(.starts, in: lane) { record in
            guard let key = [UInt8](copying: record.key), rows[key] != nil else { return }
            rows[key] = [UInt8](copying: record.value).map(row) ?? Row()
        }
    }

    private func row(from value: [UInt8]) -> Row {
        if let scope = try? LaneScope.decode(value, with: reader) {
            return Row(
                version: scope.newestState?.version ?? 0, endVersion: scope.endVersion,
                cancelledSends: Set(scope.cancelledSends))
        }
        if let start = try? LedgerRow.decode(value, with: reader) {
            return Row(version: start.version, endVersion: start.safetyEndVersion)
        }
        return Row()
    }

    /// Returns the reason not to send a job again, or nil.
    func skipReason(for head: SheetHead, job: Addressee, now: Int64) -> ReplaySkipReason? {
        let expiresInRetryTier = head.deadline <= (now + RedrivenRecord.retryTierMilliseconds) / 1000
        if expiresInRetryTier { return .expired }
        if head.event == .end { return nil }
        let (group, recipient) = scopeRows(for: head, job: job)
        let isCancelled =
            group.cancelledSends.contains(head.send) || recipient.cancelledSends.contains(head.send)
        if isCancelled { return .cancelled }
        if max(group.endVersion, recipient.endVersion) > head.version { return .ended }
        switch head.event {
        case .end: return nil
        case .start:
            guard let groupID = head.group else { return nil }
            let start = rows[Self.startKey(for: head, of: job, in: groupID)] ?? Row()
            // Only a phone that was started gets a safety END.
            let hasSafetyEnd = start.endVersion > 0
            return start.version > head.version || hasSafetyEnd ? .startedSince : nil
        case .update:
            guard head.isConflatable else { return nil }
            return max(group.version, recipient.version) > head.version ? .newer : nil
        }
    }

    /// Returns the rows of the whole group and of the job's recipient in it. The row of an activity without a
    /// group counts as the recipient's row.
    private func scopeRows(for head: SheetHead, job: Addressee) -> (group: Row, recipient: Row) {
        guard let group = head.group else {
            return (Row(), Self.activityKey(for: head, of: job).flatMap { rows[$0] } ?? Row())
        }
        return (
            rows[RecordKey.join(head.app, group)] ?? Row(),
            rows[Self.scopeKey(for: head, of: job, in: group)] ?? Row()
        )
    }

    // MARK: Keys

    /// Returns the key of the activity's scope, or nil for a start. The entry of an update names the activity:
    /// `update:`, then its id.
    private static func activityKey(for head: SheetHead, of job: Addressee) -> [UInt8]? {
        let prefix = "update:"
        guard job.entry.hasPrefix(prefix) else { return nil }
        return ScopeKey(app: head.app, activity: String(job.entry.dropFirst(prefix.count))).bytes
    }

    private static func scopeKey(for head: SheetHead, of job: Addressee, in group: String) -> [UInt8] {
        RecordKey.join(head.app, group, job.recipient)
    }

    private static func startKey(for head: SheetHead, of job: Addressee, in group: String) -> [UInt8] {
        RecordKey.join(
            head.app, group, job.recipient, String(head.generation), job.installation)
    }
}

/// The installation, registry entry and recipient of one job.
typealias Addressee = ReceiptLines.Addressee
