internal import CatalogRecords
internal import Kafka
internal import Lifecycle
internal import Topics

/// A call that makes a running ingest read reports again. It appends a copy of each report to the report's
/// partition, with the time and the offset of the first arrival. Ingest merges the copy like a late report, so
/// reports that were already merged change nothing.
///
/// The call has a name, which is in a header of its copies. The copies lie in each partition in the order of
/// their originals, so a repeated call with the same name resumes after the last copy.
package final class ReportReplay {
    /// The start of the replay.
    package enum Start: Sendable {
        /// Milliseconds since 1970, by the cluster's clock.
        case time(Int64)
        /// One partition, from this offset on.
        case position(DeadLetterID)
    }

    /// The results of a call.
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
    /// The limits of reports and bytes that are sent together.
    private static let batchReportsMax = 1_000
    private static let batchBytesMax = 16 << 20

    /// The part of a partition that the call copies.
    private struct PartitionPlan {
        let partition: Int32
        /// The offset after the last report that a call with this name has copied. Nil if there was no such call.
        let next: Int64?
        /// The end of the partition at the preview. Later reports are new, and ingest reads them anyway.
        let end: Int64
    }

    private let deadLetters: DeadLetterTopic
    private let start: Start
    private let author: String
    private let run: String
    /// Empty until `preview`.
    private var plans: [PartitionPlan] = []

    /// - Parameters:
    ///   - author: The caller, for the audit.
    ///   - run: The call's name.
    package init(deadLetters: DeadLetterTopic, from start: Start, author: String, run: String) {
        (self.deadLetters, self.start, self.author, self.run) = (deadLetters, start, author, run)
    }

    /// Counts the existing reports, and decides which of them `execute` copies.
    package func preview() throws -> Tally {
        var tally = Tally()
        plans = []
        for partition in 0..<Int32(deadLetters.layout.partitionCount(of: .reports)) {
            guard let start = scanStart(of: partition) else { continue }
            var next: Int64?
            var partitionTally = Tally()
            let end = try deadLetters.scan(.reports, in: partition, from: start) { record in
                guard let copy = CopiedReport(record) else {
                    partitionTally.reports += 1
                    return
                }
                partitionTally.copies += 1
                guard copy.run == run else { return }
                partitionTally.copiedBefore += 1
                next = max(next ?? 0, copy.offset + 1)
            }
            if let next {
                partitionTally.reports = try countReports(in: partition, from: next, until: end)
            }
            plans.append(PartitionPlan(partition: partition, next: next, end: end))
            tally.reports += partitionTally.reports
            tally.copies += partitionTally.copies
            tally.copiedBefore += partitionTally.copiedBefore
        }
        return tally
    }

    /// Returns the first position to read in a partition, or nil if the call does not copy its reports.
    private func scanStart(of partition: Int32) -> TopicScanner.Start? {
        switch start {
        case .time(let time): .time(time)
        case .position(let position): position.partition == partition ? .offset(position.offset) : nil
        }
    }

    private func countReports(in partition: Int32, from next: Int64, until end: Int64) throws -> Int {
        var count = 0
        try deadLetters.scan(.reports, in: partition, from: .offset(next)) { record in
            guard record.offset < end else { throw TopicScanner.StopScan() }
            if CopiedReport(record) == nil { count += 1 }
        }
        return count
    }

    /// Copies the reports. `preview` must run first.
    ///
    /// - Parameter progress: Called after each batch with the counts so far. An error that it throws ends the
    ///   call.
    package func execute(progress: (Tally) throws -> Void) throws -> Tally {
        var tally = Tally()
        let writer = try ReplayWriter(deadLetters: deadLetters, author: author, run: run)
        try writer.writeAudit("reports.replay", app: AuditEntry.everyApp, subject: "run \(run)")
        for plan in plans {
            let nextStart = plan.next.map { TopicScanner.Start.offset($0) }
            guard let start = nextStart ?? scanStart(of: plan.partition) else { continue }
            var batch: [OutgoingRecord] = []
            var byteCount = 0
            try deadLetters.scan(.reports, in: plan.partition, from: start) { record in
                guard record.offset < plan.end else { throw TopicScanner.StopScan() }
                guard CopiedReport(record) == nil else {
                    tally.copies += 1
                    return
                }
                let copy = CopiedReport.copy(of: record, by: run)
                byteCount += copy.value?.count ?? 0
                batch.append(copy)
                let isFull = batch.count >= Self.batchReportsMax || byteCount >= Self.batchBytesMax
                guard isFull else { return }
                try writer.store(batch)
                tally.reports += batch.count
                (batch, byteCount) = ([], 0)
                try progress(tally)
            }
            try writer.store(batch)
            tally.reports += batch.count
            try progress(tally)
        }
        return tally
    }
}
