internal import JSON
internal import Jobs
internal import Lifecycle
internal import RecordFormat
internal import Sender
internal import Sends
internal import Simulation

// A process reads from Kafka, as the consumer of its worker does: notes of `superseded`, receipts, and sheets.
extension SenderSimulation {
    func poll(for process: SimulatedProcess) {
        process.lastPoll = now
        // The library notices the loss when it has contacted the group again.
        if process.hasLostLanes, occursOrIsCalm(percent: 40) {
            process.hasLostLanes = false
            process.epoch += 1
            process.doubtsItsLanes = false
            process.plan.lost(at: time)
            performActions(of: process)
        }
        process.plan.leased(until: process.leaseEnd)
        while process.notesRead < notes.count, occursOrIsCalm(percent: 70) {
            process.plan.superseded(notes[process.notesRead], at: time)
            process.notesRead += 1
        }
        if process.notesRead == notes.count { process.plan.supersededIsRead() }
        readReceipts(for: process)
        performActions(of: process)
        for lane in process.lanes.sorted() {
            for topic in JobTopic.allCases {
                deliverSheets(to: process, from: SimulatedKafka.Partition(lane: lane, topic: topic))
            }
        }
    }

    /// Delivers some of the requested receipts as a consumer does: in pieces, and some of them twice.
    private func readReceipts(for process: SimulatedProcess) {
        for lane in process.receiptReads.lanesWithoutMarker where process.lanes.contains(lane) {
            writeTakeoverMarker(of: process, lane: lane)
        }
        for start in process.receiptReads.starts where process.lanes.contains(start.lane) {
            let end = kafka.receiptsEndOffset(ofLane: start.lane)
            var offset = occurs(percent: 10) ? max(0, start.offset - 2) : start.offset
            for _ in 0..<1 + random.number(below: 40) where offset < end {
                if process.receiptReads.take(lane: start.lane, at: offset) {
                    deliverReceipt(to: process, lane: start.lane, at: offset)
                }
                offset += 1
            }
            if offset == end { process.receiptReads.reachedEnd(lane: start.lane, at: end) }
        }
        for finishedRead in process.receiptReads.takeEnded() {
            process.mustKnowReceiptsBelow[finishedRead.lane] = finishedRead.offset
            process.plan.receiptReadEnded(lane: finishedRead.lane, until: finishedRead.offset, at: time)
        }
    }

    /// Writes the marker up to which a process reads a lane. Records of the same process that are on their way are
    /// stored before it. Sometimes the write is repeated although it was stored.
    private func writeTakeoverMarker(of process: SimulatedProcess, lane: Int32) {
        guard !process.pendingWrites.contains(where: { $0.write.lane == lane }), occursOrIsCalm(percent: 70)
        else { return }
        let offset = kafka.receiptsEndOffset(ofLane: lane)
        kafka.receipts[Int(lane)].append(.takeover(process.plan.takeoverMarker))
        if !isCalm, occurs(percent: 5) { return }
        process.plan.takeoverMarkerIsStored(lane: lane, at: offset)
        process.receiptReads.begin(lane: lane, markerAt: offset)
    }

    private func deliverReceipt(to process: SimulatedProcess, lane: Int32, at offset: Int64) {
        switch kafka.receipts[Int(lane)][Int(offset)] {
        case .takeover(let marker): process.plan.takeoverMarkerWasRead(marker, lane: lane, at: offset)
        case .receipt(let bytes):
            do {
                process.plan.receiptWasRead(try Receipt.decode(bytes, with: reader), lane: lane)
            } catch {
                reportViolation("a receipt cannot be read: \(error)")
            }
        }
    }

    /// Delivers up to three records of a partition.
    private func deliverSheets(to process: SimulatedProcess, from partition: SimulatedKafka.Partition) {
        for _ in 0..<1 + random.number(below: 3) {
            let position = process.positions[partition.index]
            if process.isPaused[partition.index] { return }
            guard position < kafka.endOffset(of: partition) else {
                return process.plan.reachedEnd(of: partition.topic, lane: partition.lane, at: position)
            }
            process.positions[partition.index] = position + 1
            switch kafka.sheets[partition.index][Int(position)] {
            case .marker: break
            case .malformed:
                let malformed = MalformedSheet(
                    topic: partition.topic, offset: position, error: .noJobs, key: nil, value: [],
                    headers: [], writtenAt: unixMilliseconds)
                process.plan.arrived(malformed, lane: partition.lane, at: time)
            case .sheet(let record):
                process.plan.arrived(
                    record, from: partition.topic, lane: partition.lane, offset: position, at: time)
            }
            // Sometimes the consumer goes back and reads a record again.
            if occurs(percent: 2) { process.positions[partition.index] = max(0, position - 1) }
            performActions(of: process)
        }
    }
}
