internal import CatalogRecords
internal import Kafka
internal import Lifecycle
internal import Topics

/// A call that lets ingest read reports again while it runs. It appends each report to its partition with the
/// time and the offset of its first arrival. Ingest merges it like a late report, so reports that were
/// already merged change nothing.
///
/// A call has a name, and its copies carry the name. They lie in each partition in the order of their
/// originals, so a repeated call with the same name resumes after the last copy.
package final class ReportReplay {
    /// The start of the replay.
    package enum Start: Sendable {
        /// Milliseconds since 1970, by the cluster's clock.
        case time(Int64)
        /// One partition, from this offset on.
        case position(DeadLetterID)
    }

    package struct Tally: Sendable, Hashable {
        /// The reports that are copied, or would be copied.
        package var reports = 0
        /// The copies of earlier calls. They are not copied again.
        package var copies = 0
        /// The copies of a call with this name. The reports before them are done.
        package var copiedBefore = 0
    }

    /// The header of a copy: the call's name, a slash, and the offset of the original.
    static let header: StaticString = "flotilla-replayed"
    private static let batchReportsMax = 1_000
    private static let batchBytesMax = 16 << 20

    private let deadLetters: DeadLetterTopic
    private let start: Start
    private let author: String
    private let run: String
    /// For each partition the offset to resume at and the end of this call.
    private var plans: [(partition: Int32, next: Int64, end: Int64)] = []

    /// - Parameters:
    ///   - author: The caller, for the audit.
    ///   - run: The call's name.
    package init(deadLetters box: DeadLetterTopic, from start: Start, author: String, run: String) {
        (self.deadLetters, self.start, self.author, self.run) = (box, start, author, run)
    }

    /// Counts the existing reports. Ingest reads later reports anyway.
    package func preview() throws -> Tally {
        var all = Tally()
        plans = []
        for partition in 0..<Int32(deadLetters.layout.partitionCount(of: .reports)) {
            guard let begin = scanStart(of: partition) else { continue }
            var (next, own) = (Int64(0), Tally())
            let end = try deadLetters.scan(.reports, in: partition, from: begin) { record in
                guard let copy = CopiedReport(record) else {
                    own.reports += 1
                    return
                }
                own.copies += 1
                guard copy.run == run else { return }
                own.copiedBefore += 1
                next = max(next, copy.offset + 1)
            }
            own.reports = try next == 0 ? own.reports : count(in: partition, from: next, until: end)
            plans.append((partition, next, end))
            all.reports += own.reports
            all.copies += own.copies
            all.copiedBefore += own.copiedBefore
        }
        return all
    }

    private func scanStart(of partition: Int32) -> TopicScanner.Start? {
        switch start {
        case .time(let time): .time(time)
        case .position(let place): place.partition == partition ? .offset(place.offset) : nil
        }
    }

    private func count(in partition: Int32, from next: Int64, until end: Int64) throws -> Int {
        var found = 0
        try deadLetters.scan(.reports, in: partition, from: .offset(next)) { record in
            guard record.offset < end else { throw TopicScanner.StopScan() }
            if CopiedReport(record) == nil { found += 1 }
        }
        return found
    }

    /// Copies the reports. `survey` must run first.
    ///
    /// - Parameter progress: Called after each batch with the counts so far. An error that it throws ends the
    ///   call.
    package func execute(progress: (Tally) throws -> Void) throws -> Tally {
        var all = Tally()
        let writer = try ReplayWriter(deadLetters: deadLetters, author: author, run: run)
        try writer.writeAudit("reports.replay", app: AuditEntry.everyApp, subject: "run \(run)")
        for plan in plans {
            guard let begin = plan.next > 0 ? .offset(plan.next) : scanStart(of: plan.partition) else {
                continue
            }
            var batch: [OutgoingRecord] = []
            var bytes = 0
            try deadLetters.scan(.reports, in: plan.partition, from: begin) { record in
                guard record.offset < plan.end else { throw TopicScanner.StopScan() }
                guard CopiedReport(record) == nil else {
                    all.copies += 1
                    return
                }
                let copy = CopiedReport.copy(of: record, by: run)
                bytes += copy.value?.count ?? 0
                batch.append(copy)
                guard batch.count >= Self.batchReportsMax || bytes >= Self.batchBytesMax else { return }
                try writer.send(batch)
                all.reports += batch.count
                (batch, bytes) = ([], 0)
                try progress(all)
            }
            try writer.send(batch)
            all.reports += batch.count
            try progress(all)
        }
        return all
    }
}
