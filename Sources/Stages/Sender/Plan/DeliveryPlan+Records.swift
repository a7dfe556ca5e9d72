internal import Jobs
internal import Lifecycle

// The records of outcomes, and the effects of their acknowledgements.
extension DeliveryPlan {
    /// Writes decided outcomes that are due.
    mutating func writeOutcomes() {
        for sheet in records.takeDue(at: time.now, permits: claims.permits) {
            let leaseTiming = lanes.leaseTiming(of: sheet.lane, at: time.now)
            let linesForNextOwner = records.write(sheet, leaseTiming: leaseTiming, at: time, into: &actions)
            leaveDecidedLinesToNextOwner(linesForNextOwner, of: sheet)
        }
    }

    /// Writes records that waited for a lease, if this is allowed now.
    mutating func writeRecordsWaitingForLease() {
        for id in records.takeWaitingForLease(of: lanes, at: time.now) { writeAgain(id) }
    }

    // MARK: Failed writes

    /// Handles a record that is not stored, or may not be. It is written again.
    package mutating func writeFailed(_ id: UInt64, at time: CurrentTime) {
        self.time = time
        writeAgain(id)
    }

    /// Writes all unacknowledged records again, in their order. The producer is gone, so none of them will be
    /// acknowledged any more.
    package mutating func allWritesFailed(at time: CurrentTime) {
        self.time = time
        for id in records.unacknowledgedIDs { writeAgain(id) }
    }

    /// Writes a record now or when there is a lease. If it must not be written any more, its lines are left to the next
    /// owner of the lane.
    private mutating func writeAgain(_ id: UInt64) {
        let forbiddenRecord = records.writeAgain(id, of: lanes, at: time.now, into: &actions)
        guard let forbiddenRecord, let sheet = forbiddenRecord.sheet else { return }
        leaveDecidedLinesToNextOwner(forbiddenRecord.lines, of: sheet)
    }

    // MARK: Stored records

    /// Handles a record that is stored.
    ///
    /// - Parameter offset: the record's offset in its partition; nil if it is unknown.
    package mutating func stored(_ id: UInt64, offset: Int64?, at time: CurrentTime) {
        self.time = time
        claims.recordStored()
        guard let write = records.acknowledge(id) else { return }
        let lane = write.laneInHand
        switch write.content {
        case .malformed(let malformed): lane[malformed.topic].finish(malformed.offset)
        case .receipt(let parts):
            if let offset { lane.noteOurRecordStored(at: offset) }
            if let sheet = write.sheet { receiptIsStored(parts, of: sheet, lines: write.lines) }
        case .tier(let tier, let origin):
            noteTransfer(write, to: tier, at: offset)
            writeReceipt(.moved, for: write, reason: write.reason, dueAt: origin.dueAt)
        // The receipt of a job without an answer of APNs names the code as the reason.
        case .deadLetter(let code): writeReceipt(.rejected, for: write, reason: write.reason ?? code)
        }
    }

    /// Ends the lines of a stored receipt. If it is an intent, lets its starts leave.
    private mutating func receiptIsStored(_ parts: [Receipt.Part], of sheet: Sheet, lines: LineSet) {
        if parts.first?.outcome == .intent { return intentIsStored(sheet, lines: lines) }
        if sheet.needsLedger {
            sheet.lane.ledger.record(
                parts, of: sheet.originPosition, attempt: sheet.attempt,
                invalidatesComparisons: sheet.originLines != nil)
        }
        claims.finish(sheet, lines: lines)
        removeIfDone(sheet)
    }

    /// Notes a sheet that is stored in a tier, so that the next owner reads the receipts that it needs for the sheet.
    private func noteTransfer(_ write: RecordToWrite, to tier: LaterTier, at offset: Int64?) {
        let lane = write.laneInHand
        // After a repeated write the tier may have the sheet twice. Jobs that need the ledger may lie on another sheet.
        let mayHaveDuplicates = write.isRepeated || write.sheet?.needsLedger == true
        if mayHaveDuplicates {
            lane[tier.jobTopic].holdDuplicate(at: offset, receiptsFrom: write.receiptsFrom)
        }
        // No earlier owner can write there any more (`sheetsWithoutOffsetWhenOrdered`), so only our sheets lie after
        // this one.
        if let offset, let sheetsWithoutOffsetWhenOrdered = write.sheetsWithoutOffsetWhenOrdered {
            lane[tier.jobTopic].noteOwnSheet(
                at: offset, sheetsWithoutOffsetWhenOrdered: sheetsWithoutOffsetWhenOrdered)
        }
    }

    /// Writes the receipt for jobs that are now stored in another topic.
    private mutating func writeReceipt(
        _ outcome: ReceiptOutcome, for write: RecordToWrite, reason: String?, dueAt: Int64? = nil
    ) {
        guard let sheet = write.sheet else { return }
        let part = Receipt.Part(
            outcome, lines: sheet.originLines(of: write.lines), status: write.status, reason: reason,
            dueAt: dueAt)
        records.order(
            .receipt([part]), of: sheet, lines: write.lines, in: write.laneInHand, at: time, into: &actions)
    }
}
