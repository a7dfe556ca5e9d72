internal import JSON
internal import Jobs
internal import Lifecycle
internal import RecordFormat
internal import Sender
internal import Sends
internal import Simulation

// A process writes to Kafka: records, which the cluster stores and then acknowledges, and committed offsets.
extension SenderSimulation {
    /// Stores records in the cluster, in their order.
    func storeRecords(of process: SimulatedProcess) {
        while let (id, write) = process.pendingWrites.first, occursOrIsCalm(percent: 80) {
            process.pendingWrites.removeFirst()
            if !isCalm, occurs(percent: 3) {
                failures += 1
                // The write is given up, but the record may be stored.
                if occurs(percent: 50) { _ = append(write) }
                process.plan.writeFailed(id, at: time)
                performActions(of: process)
                return
            }
            process.storedWrites.append((id, append(write)))
        }
    }

    /// Stores a record in its topic. Returns its offset, or nil if the record is invalid and was not stored.
    func append(_ write: RecordToWrite) -> Int64? {
        switch write.content {
        case .receipt:
            guard let receipt = write.receipt else { preconditionFailure("a receipt has no sheet") }
            check(receipt, in: write)
            record(receipt, at: kafka.receiptsEndOffset(ofLane: write.lane))
            kafka.receipts[Int(write.lane)].append(.receipt(receipt.encoded()))
            return kafka.receiptsEndOffset(ofLane: write.lane) - 1
        case .tier(let tier, let origin):
            guard let sheet = write.sheet else { preconditionFailure("a record of a tier has no sheet") }
            let partition = SimulatedKafka.Partition(
                lane: write.lane, topic: tier == .seconds5 ? .later5s : .later2m)
            var content = sheet.content
            content.to = sheet.content.lines(write.lines, by: sheet.index)
            let unproven = write.lines.positions(of: sheet.unprovenLines)
            do { return try kafka.append(content, origin: origin, unproven: unproven, to: partition) } catch {
                reportViolation("a tier's sheet cannot be read: \(error)")
                return nil
            }
        case .deadLetter, .malformed:
            kafka.deadLetterCount += 1
            return Int64(kafka.deadLetterCount)
        }
    }

    /// Tells the plan that records are stored. Sometimes the offset is unknown.
    func acknowledgeRecords(of process: SimulatedProcess) {
        while let (id, offset) = process.storedWrites.first, occursOrIsCalm(percent: 80) {
            process.storedWrites.removeFirst()
            process.plan.stored(id, offset: occurs(percent: 95) ? offset : nil, at: time)
            performActions(of: process)
        }
    }

    /// Lets the group decide about requested commits, and tells the plan about decided ones. Either may wait, except
    /// that a process waits for the result of its last commit before it gives its lanes back (`lastCommit`).
    func commitOffsets(of process: SimulatedProcess) {
        for index in process.commits.indices where process.commits[index].isAccepted == nil {
            let mustDecideNow = process.lastCommit != nil
            guard mustDecideNow || occursOrIsCalm(percent: 80) else { break }
            process.commits[index].isAccepted = decide(process.commits[index], of: process)
        }
        while let commit = process.commits.first, let isAccepted = commit.isAccepted,
            occursOrIsCalm(percent: 70)
        {
            process.commits.removeFirst()
            notify(process, of: commit, isAccepted: isAccepted)
        }
        guard let lastCommit = process.lastCommit else { return }
        process.lastCommit = nil
        notify(process, of: lastCommit, isAccepted: decide(lastCommit, of: process))
    }

    private func notify(
        _ process: SimulatedProcess, of commit: SimulatedProcess.PendingCommit, isAccepted: Bool
    ) {
        // After a long stop a process doubts that its lanes are its own. Only a commit that it requested since then
        // proves it.
        if isAccepted, !commit.wasRequestedBeforeStop { process.doubtsItsLanes = false }
        process.plan.committed(commit.number, isAccepted: isAccepted, at: time)
        performActions(of: process)
    }

    /// Lets the group accept or refuse a commit, and stores the offsets of an accepted one. Returns whether the group
    /// accepts it. The group accepts it whole or not at all, and only from the process that has owned the lanes since
    /// before the request.
    func decide(_ commit: SimulatedProcess.PendingCommit, of process: SimulatedProcess) -> Bool {
        let isOwner =
            commit.epoch == process.epoch && commit.offsets.allSatisfy { process.lanes.contains($0.lane) }
        guard isOwner, isCalm || !occurs(percent: 10) else { return false }
        for offset in commit.offsets { apply(offset) }
        return true
    }

    private func apply(_ commit: DeliveryActions.OffsetCommit) {
        let partition = SimulatedKafka.Partition(lane: commit.lane, topic: commit.topic)
        let oldOffset = kafka.committed[partition.index]?.offset ?? 0
        if commit.offset < oldOffset {
            reportViolation("offset \(commit.offset) was committed after \(oldOffset)")
        }
        checkCommit(of: partition, from: oldOffset, to: commit.offset)
        kafka.committed[partition.index] = (commit.offset, commit.metadata.text)
    }
}
