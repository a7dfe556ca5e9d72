internal import Jobs
internal import Payloads
internal import Sender
internal import Sends

// The invariants after each step and at the end.
extension SenderSimulation {
    /// Checks that `receipts` have an outcome or a move for every job below a committed offset.
    func checkCommit(of partition: SimulatedKafka.Partition, from: Int64, to: Int64) {
        for offset in from..<max(from, to) {
            guard case .sheet(let record) = kafka.sheets[partition.index][Int(offset)] else { continue }
            let named =
                record.origin.map { JobPosition(topic: $0.topic, partition: $0.partition, offset: $0.offset) }
                ?? JobPosition(topic: partition.topic.word, partition: partition.lane, offset: offset)
            let lines = record.origin?.lines ?? LineSet(all: record.index.lines.count)
            let attempt = record.origin?.attempt ?? 1
            lines.forEachLine { line in
                let name = SimulatedJobID(position: named, line: line)
                if receiptStates[name]?.final == nil, (receiptStates[name]?.lastMovedAttempt ?? 0) < attempt {
                    recordFault("\(name) is below the committed offset \(to) without a receipt")
                }
            }
        }
    }

    struct ReceiptState {
        var final: ReceiptOutcome?
        /// Offset of the first final receipt.
        var finalAt: Int64?
        var finalCount = 0
        var lastMovedAttempt = 0
        /// Offset of the first receipt about a move, by attempt.
        var movedAt: [Int: Int64] = [:]
    }

    func record(_ receipt: Receipt, at offset: Int64) {
        for part in receipt.parts {
            outcomes.insert(part.outcome)
            part.lines.forEachLine { line in
                let name = SimulatedJobID(position: receipt.position, line: line)
                var standing = receiptStates[name] ?? ReceiptState()
                if part.outcome.isFinal {
                    standing.final = standing.final ?? part.outcome
                    standing.finalAt = standing.finalAt ?? offset
                    standing.finalCount += 1
                } else if part.outcome == .moved {
                    standing.lastMovedAttempt = max(standing.lastMovedAttempt, receipt.attempt)
                    standing.movedAt[receipt.attempt] = standing.movedAt[receipt.attempt] ?? offset
                }
                receiptStates[name] = standing
            }
        }
    }

    /// Checks that no push leaves whose process must know that its job is done. A death excuses a duplicated
    /// push only if the first outcome was not stored when the lane's next owner read `receipts`.
    func checkPushIsNeeded(by process: SimulatedProcess, job name: SimulatedJobID, attempt: Int) {
        guard let standing = receiptStates[name], let until = process.receiptsReadTo[name.position.partition]
        else {
            return
        }
        if let at = standing.finalAt, at < until {
            recordFault("\(name) leaves though its receipt lies at \(at), and they were read to \(until)")
        }
        if let at = standing.movedAt.filter({ $0.key >= attempt }).values.min(), at < until {
            recordFault(
                "\(name) leaves as \(attempt) though it was moved at \(at), and they were read to \(until)")
        }
    }

    /// Checks that a receipt is correct.
    func check(_ receipt: Receipt, in write: RecordToWrite) {
        var named = 0
        for part in receipt.parts {
            named += part.lines.count
            part.lines.forEachLine { line in
                let name = SimulatedJobID(position: receipt.position, line: line)
                guard let job = jobs[name] else {
                    return recordFault("a receipt names \(name), which is not a job")
                }
                if part.outcome == .superseded { checkSuperseded(name, job: job) }
                if part.outcome == .expired, unixMilliseconds / 1000 + 120 < job.head.deadline {
                    recordFault("\(name) expired before its deadline")
                }
            }
        }
        if receipt.parts.contains(where: { $0.outcome.isFinal || $0.outcome == .moved }),
            ReceiptLines.addressees(in: write.addressees.span).count != named
        {
            recordFault("a receipt does not name the recipients of its jobs")
        }
    }

    private func checkSuperseded(_ name: SimulatedJobID, job: SimulatedJob) {
        let head = job.head
        if head.event == .end { return recordFault("\(name), an END, was dropped") }
        if notes.contains(where: { $0.app == head.app && $0.cancelledSends.contains(head.send) }) { return }
        let isNewer = jobs.values.contains { other in
            guard other.head.app == head.app, other.head.group == head.group,
                other.head.version > head.version
            else { return false }
            if other.head.event == .end, other.head.scope == .group { return true }
            return head.event == .update && head.isConflatable && other.head.event != .start
                && other.head.scope == head.scope
                && (head.scope == .group || other.activity == job.activity)
        }
        if !isNewer {
            recordFault(
                "\(name), \(head.event) of version \(head.version), was dropped, but nothing newer exists")
        }
    }

    /// Runs the world without further faults. Every job must get its final receipt.
    func settle() {
        isCalm = true
        settleDuringAppFault()
        appFault = .none
        settleAfterNetworkCut()
        for count in 0..<4_000 {
            if count % 4 == 0, isAtRest { break }
            step()
        }
        guard isAtRest else {
            let open = jobs.keys.filter { receiptStates[$0]?.final == nil }.sorted { "\($0)" < "\($1)" }
                .prefix(3)
            return recordFault("the world does not come to rest; open jobs: \(open)")
        }
        checkFinalState()
    }

    private var isAtRest: Bool {
        guard
            processes.allSatisfy({
                $0.pushesInFlight.isEmpty && $0.pendingWrites.isEmpty && $0.plan.permitsTaken == 0
            })
        else { return false }
        return Self.lanes.allSatisfy { lane in
            JobTopic.allCases.allSatisfy { topic in
                let place = SimulatedKafka.Partition(lane: lane, topic: topic)
                var end = kafka.endOffset(of: place)
                while end > 0, case .marker = kafka.sheets[place.index][Int(end) - 1] { end -= 1 }
                return kafka.committed[place.index]?.offset ?? 0 >= end
            }
        }
    }

    private func checkFinalState() {
        var duplicates = 0
        for (name, job) in jobs {
            guard let standing = receiptStates[name], standing.final != nil else {
                recordFault("\(name) has no receipt")
                continue
            }
            if standing.finalCount > 1, deaths == 0, failures == 0 {
                recordFault("\(name) has two final receipts")
            }
            duplicates += max(0, job.processedCount - 1 - job.unknownOutcomes)
        }
        if duplicates > duplicatesMax {
            recordFault("\(duplicates) pushes were duplicated, at most \(duplicatesMax) are allowed")
        }
        for process in processes where process.plan.subjectsInHand + process.plan.sheetsInHand > 0 {
            recordFault(
                "tables are not empty: \(process.plan.subjectsInHand) subjects, \(process.plan.sheetsInHand) sheets"
            )
        }
        for process in processes where process.plan.reservationCountOfApps != 0 {
            recordFault("counts of an app are not zero")
        }
    }
}
