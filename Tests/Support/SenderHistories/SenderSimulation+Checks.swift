internal import Jobs
internal import Lifecycle
internal import Payloads
internal import Sender
internal import Sends

// The rules that the simulation checks: some when a record, a push or a commit leaves a process, and some at the end of
// the history.
extension SenderSimulation {
    /// Checks that `receipts` have an outcome or a move for every job below a committed offset, because no sender reads
    /// such a job again.
    func checkCommit(of partition: SimulatedKafka.Partition, from oldOffset: Int64, to newOffset: Int64) {
        for offset in oldOffset..<max(oldOffset, newOffset) {
            guard case .sheet(let record) = kafka.sheets[partition.index][Int(offset)] else { continue }
            // A sheet in a tier names the position and the lines of the sheet where its jobs were first stored.
            let originPosition =
                record.origin.map { JobPosition(topic: $0.topic, partition: $0.partition, offset: $0.offset) }
                ?? JobPosition(topic: partition.topic.word, partition: partition.lane, offset: offset)
            let lines = record.origin?.lines ?? LineSet(all: record.index.lines.count)
            let attempt = record.origin?.attempt ?? 1
            lines.forEachLine { line in
                let id = SimulatedJobID(position: originPosition, line: line)
                let isFinished = receiptStates[id]?.final != nil
                let hasMovedOn = (receiptStates[id]?.lastMovedAttempt ?? 0) >= attempt
                if !isFinished, !hasMovedOn {
                    reportViolation("\(id) is below the committed offset \(newOffset) without a receipt")
                }
            }
        }
    }

    /// The content of `receipts` about one job.
    struct ReceiptState {
        /// The outcome in the first final receipt, and the receipt's offset.
        var final: ReceiptOutcome?
        var finalOffset: Int64?
        var finalCount = 0
        var lastMovedAttempt = 0
        /// The offset of the first receipt about a move, by attempt.
        var moveOffsets: [Int: Int64] = [:]
    }

    /// Adds a stored receipt to the states of its jobs.
    func record(_ receipt: Receipt, at offset: Int64) {
        for part in receipt.parts {
            outcomes.insert(part.outcome)
            part.lines.forEachLine { line in
                let id = SimulatedJobID(position: receipt.position, line: line)
                var state = receiptStates[id] ?? ReceiptState()
                if part.outcome.isFinal {
                    state.final = state.final ?? part.outcome
                    state.finalOffset = state.finalOffset ?? offset
                    state.finalCount += 1
                } else if part.outcome == .moved {
                    state.lastMovedAttempt = max(state.lastMovedAttempt, receipt.attempt)
                    state.moveOffsets[receipt.attempt] = state.moveOffsets[receipt.attempt] ?? offset
                }
                receiptStates[id] = state
            }
        }
    }

    /// Checks that a process pushes no job that the receipts which it has read show as done or moved. So a death of the
    /// earlier owner excuses a second push only if the first outcome was not stored when this process read `receipts`.
    func checkPushIsNeeded(by process: SimulatedProcess, job id: SimulatedJobID, attempt: Int) {
        guard let state = receiptStates[id],
            let readEnd = process.mustKnowReceiptsBelow[id.position.partition]
        else {
            return
        }
        if let offset = state.finalOffset, offset < readEnd {
            reportViolation(
                "\(id) leaves though its final receipt has offset \(offset), and receipts were read to \(readEnd)"
            )
        }
        let firstMove = state.moveOffsets.filter { $0.key >= attempt }.values.min()
        if let offset = firstMove, offset < readEnd {
            reportViolation(
                "\(id) leaves in attempt \(attempt) though it was moved at offset \(offset), and receipts were "
                    + "read to \(readEnd)")
        }
    }

    /// The longest time before its deadline at which a job may expire: the wait in the longest tier, after which it
    /// would be too late.
    private static let expiryLeadSeconds: Int64 = 120

    /// Checks that a receipt is correct.
    func check(_ receipt: Receipt, in write: RecordToWrite) {
        var lineCount = 0
        for part in receipt.parts {
            lineCount += part.lines.count
            part.lines.forEachLine { line in
                let id = SimulatedJobID(position: receipt.position, line: line)
                guard let job = jobs[id] else {
                    return reportViolation("a receipt names \(id), which is not a job")
                }
                if part.outcome == .superseded { checkSuperseded(id, job: job) }
                let nowSeconds = unixMilliseconds / 1000
                if part.outcome == .expired, nowSeconds + Self.expiryLeadSeconds < job.head.deadline {
                    reportViolation("\(id) expired before its deadline")
                }
            }
        }
        let mustNameRecipients = receipt.parts.contains { $0.outcome.isFinal || $0.outcome == .moved }
        if mustNameRecipients, ReceiptLines.addressees(in: write.addressees.span).count != lineCount {
            reportViolation("a receipt does not name the recipients of its jobs")
        }
    }

    /// Checks that a process ends no job without a push while its lanes may belong to another process, which may push
    /// the job. The number of such receipts would have no limit, while permits limit the receipts about pushes.
    func checkLease(of writes: [RecordToWrite], by process: SimulatedProcess) {
        guard now >= process.leaseEnd else { return }
        for write in writes {
            guard let receipt = write.receipt, let part = receipt.parts.first,
                receipt.parts.allSatisfy({ $0.outcome == .superseded || $0.outcome == .expired })
            else { continue }
            reportViolation("a job of \(receipt.position) ends as \(part.outcome) without a lease")
        }
    }

    /// Checks that a job with the outcome `superseded` was cancelled or has a newer job.
    private func checkSuperseded(_ id: SimulatedJobID, job: SimulatedJob) {
        let head = job.head
        if head.event == .end { return reportViolation("\(id), an END, was dropped") }
        if notes.contains(where: { $0.app == head.app && $0.cancelledSends.contains(head.send) }) { return }
        let isReplaced = jobs.values.contains { other in
            guard other.head.app == head.app, other.head.group == head.group,
                other.head.version > head.version
            else { return false }
            // The END of a group replaces everything. A newer update or END of the same scope replaces an update.
            if other.head.event == .end, other.head.scope == .group { return true }
            let isReplaceable = head.event == .update && head.isConflatable && other.head.event != .start
            let hasSameTarget =
                other.head.scope == head.scope
                && (head.scope == .group || other.supersedingKey == job.supersedingKey)
            return isReplaceable && hasSameTarget
        }
        if !isReplaced {
            reportViolation(
                "\(id), \(head.event) of version \(head.version), was dropped, but nothing newer exists")
        }
    }

    // MARK: The end

    /// The number of steps between two checks of all jobs, which are slow.
    static let stepsBetweenChecks = 4
    /// The largest number of steps until all work is done.
    private static let settleStepsMax = 4_000

    /// Runs the simulation without further faults. Every job must get its final receipt.
    func settle() {
        isCalm = true
        switch kind {
        case .mixed:
            settleDuringAppFault()
            appFault = .none
            settleAfterNetworkCut()
        case .overtaken:
            appFault = .none
            settleInTime()
        }
        for stepNumber in 0..<Self.settleStepsMax {
            if stepNumber % Self.stepsBetweenChecks == 0, isAtRest { break }
            step()
        }
        guard isAtRest else {
            return reportViolation("the simulation does not come to rest; open jobs: \(openJobs)")
        }
        checkFinalState()
    }

    /// After the faults every job must have its final receipt within this time: the wait in the longest tier, and the
    /// takeover of a lane with the pushes of its backlog.
    private static let lastReceiptMillisecondsMax = 120_000 + 30_000

    /// Runs the simulation until every job has its final receipt, and checks the time.
    private func settleInTime() {
        isMeasuringDelay = true
        defer { isMeasuringDelay = false }
        let start = now
        let apps: Set<String> = [Self.soundApp, Self.faultyApp]
        while violations.isEmpty, hasOpenJobs(of: apps) {
            if now.milliseconds(since: start) > Self.lastReceiptMillisecondsMax {
                return reportViolation(
                    "jobs have no final receipt \(now.milliseconds(since: start)) ms after the faults: \(openJobs)"
                )
            }
            for _ in 0..<Self.stepsBetweenChecks { step() }
        }
    }

    /// Up to three jobs without a final receipt, for a message.
    private var openJobs: [SimulatedJobID] {
        Array(
            jobs.keys.filter { receiptStates[$0]?.final == nil }.sorted { "\($0)" < "\($1)" }.prefix(3))
    }

    /// Whether no process has work in hand, and all sheets are below the committed offsets.
    private var isAtRest: Bool {
        let hasWork = processes.contains {
            !$0.pushesInFlight.isEmpty || !$0.pendingWrites.isEmpty || $0.plan.takenPermitCount != 0
        }
        if hasWork { return false }
        return Self.lanes.allSatisfy { lane in
            JobTopic.allCases.allSatisfy { topic in
                let partition = SimulatedKafka.Partition(lane: lane, topic: topic)
                // Markers at the end need no commit.
                var end = kafka.endOffset(of: partition)
                while end > 0, case .marker = kafka.sheets[partition.index][Int(end) - 1] { end -= 1 }
                return kafka.committed[partition.index]?.offset ?? 0 >= end
            }
        }
    }

    private func checkFinalState() {
        var duplicates = 0
        for (id, job) in jobs {
            guard let state = receiptStates[id], state.final != nil else {
                reportViolation("\(id) has no final receipt")
                continue
            }
            if state.finalCount > 1, disturbances == 0, failures == 0 {
                reportViolation("\(id) has two final receipts")
            }
            duplicates += max(0, job.processedCount - 1 - job.unknownOutcomes)
        }
        if duplicates > duplicatesMax {
            reportViolation("\(duplicates) pushes were duplicated, at most \(duplicatesMax) are allowed")
        }
        for process in processes where process.plan.heldSubjectCount + process.plan.sheetCount > 0 {
            reportViolation(
                "tables are not empty: \(process.plan.heldSubjectCount) subjects, \(process.plan.sheetCount) sheets"
            )
        }
        for process in processes where process.plan.reservationCountOfApps != 0 {
            reportViolation("counts of an app are not zero")
        }
    }
}
