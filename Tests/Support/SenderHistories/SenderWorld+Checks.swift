internal import LiveActivity
internal import Sender

// The invariants after each step and at the end.
extension SenderWorld {
    /// Checks that `receipts` have an outcome or a move for every job below a committed offset.
    func checkCommit(_ place: WorldKafka.Place, from: Int64, to: Int64) {
        for offset in from..<max(from, to) {
            guard case .sheet(let record) = kafka.sheets[place.index][Int(offset)] else { continue }
            let named =
                record.origin.map { JobPosition(topic: $0.topic, partition: $0.partition, offset: $0.offset) }
                ?? JobPosition(topic: place.topic.word, partition: place.lane, offset: offset)
            let lines = record.origin?.lines ?? LineSet(all: record.index.lines.count)
            let attempt = record.origin?.attempt ?? 1
            lines.forEachLine { line in
                let name = WorldJobName(place: named, line: line)
                if standings[name]?.final == nil, (standings[name]?.movedAs ?? 0) < attempt {
                    fault("\(name) is below the committed offset \(to) without a receipt")
                }
            }
        }
    }

    struct Standing {
        var final: ReceiptOutcome?
        /// Offset of the first final receipt.
        var finalAt: Int64?
        var finals = 0
        var movedAs = 0
        /// Offset of the first receipt about a move, by attempt.
        var movedAt: [Int: Int64] = [:]
    }

    func note(_ receipt: Receipt, at offset: Int64) {
        for part in receipt.parts {
            met.insert(part.outcome)
            part.lines.forEachLine { line in
                let name = WorldJobName(place: receipt.position, line: line)
                var standing = standings[name] ?? Standing()
                if part.outcome.isFinal {
                    standing.final = standing.final ?? part.outcome
                    standing.finalAt = standing.finalAt ?? offset
                    standing.finals += 1
                } else if part.outcome == .moved {
                    standing.movedAs = max(standing.movedAs, receipt.attempt)
                    standing.movedAt[receipt.attempt] = standing.movedAt[receipt.attempt] ?? offset
                }
                standings[name] = standing
            }
        }
    }

    /// Checks that no push leaves whose process must know that its job is done. A death excuses a duplicated
    /// push only if the first outcome was not stored when the lane's next owner read `receipts`.
    func checkKnown(_ process: WorldProcess, _ name: WorldJobName, attempt: Int) {
        guard let standing = standings[name], let until = process.toldUntil[name.place.partition] else {
            return
        }
        if let at = standing.finalAt, at < until {
            fault("\(name) leaves though its receipt lies at \(at), and they were read to \(until)")
        }
        if let at = standing.movedAt.filter({ $0.key >= attempt }).values.min(), at < until {
            fault("\(name) leaves as \(attempt) though it was moved at \(at), and they were read to \(until)")
        }
    }

    /// Checks that a receipt is correct.
    func check(_ receipt: Receipt, _ write: RecordToWrite) {
        var named = 0
        for part in receipt.parts {
            named += part.lines.count
            part.lines.forEachLine { line in
                let name = WorldJobName(place: receipt.position, line: line)
                guard let job = jobs[name] else {
                    return fault("a receipt names \(name), which is not a job")
                }
                if part.outcome == .superseded { checkSuperseded(name, job) }
                if part.outcome == .expired, wall / 1000 + 120 < job.head.deadline {
                    fault("\(name) expired before its deadline")
                }
            }
        }
        if receipt.parts.contains(where: { $0.outcome.isFinal || $0.outcome == .moved }),
            ReceiptLines.addressees(in: write.addressees.span).count != named
        {
            fault("a receipt does not name the recipients of its jobs")
        }
    }

    private func checkSuperseded(_ name: WorldJobName, _ job: WorldJob) {
        let head = job.head
        if head.event == .end { return fault("\(name), an END, was dropped") }
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
            fault("\(name), \(head.event) of version \(head.version), was dropped, but nothing newer exists")
        }
    }

    /// Runs the world without further faults. Every job must get its final receipt.
    func settle() {
        isCalm = true
        settleBesideFault()
        appFault = .none
        settleAfterCut()
        for count in 0..<4_000 {
            if count % 4 == 0, isAtRest { break }
            step()
        }
        guard isAtRest else {
            let open = jobs.keys.filter { standings[$0]?.final == nil }.sorted { "\($0)" < "\($1)" }.prefix(3)
            return fault("the world does not come to rest; open jobs: \(open)")
        }
        checkEnd()
    }

    private var isAtRest: Bool {
        guard processes.allSatisfy({ $0.flights.isEmpty && $0.queue.isEmpty && $0.plan.permitsTaken == 0 })
        else { return false }
        return Self.lanes.allSatisfy { lane in
            JobTopic.allCases.allSatisfy { topic in
                let place = WorldKafka.Place(lane: lane, topic: topic)
                var end = kafka.end(place)
                while end > 0, case .marker = kafka.sheets[place.index][Int(end) - 1] { end -= 1 }
                return kafka.committed[place.index]?.offset ?? 0 >= end
            }
        }
    }

    private func checkEnd() {
        var twice = 0
        for (name, job) in jobs {
            guard let standing = standings[name], standing.final != nil else {
                fault("\(name) has no receipt")
                continue
            }
            if standing.finals > 1, deaths == 0, failures == 0 { fault("\(name) has two final receipts") }
            twice += max(0, job.processed - 1 - job.doubts)
        }
        if twice > doubtsOfDeaths {
            fault("\(twice) pushes were duplicated, at most \(doubtsOfDeaths) are allowed")
        }
        for process in processes where process.plan.subjectsInHand + process.plan.sheetsInHand > 0 {
            fault(
                "tables are not empty: \(process.plan.subjectsInHand) subjects, \(process.plan.sheetsInHand) sheets"
            )
        }
        for process in processes where process.plan.countsOfApps != 0 {
            fault("counts of an app are not zero")
        }
    }
}
