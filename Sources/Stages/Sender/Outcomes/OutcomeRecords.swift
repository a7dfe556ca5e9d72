internal import Jobs
internal import Lifecycle

/// The records about decided lines, from the decision to the acknowledgement.
///
/// A sheet with new outcomes waits for a moment, so that many outcomes share a record. A record is usually a separate
/// request to the cluster. Outcomes that need a lease (`LineOutcome.needsLease`) wait for one. A record that is not
/// stored is written again, until it is stored or must not be written any more.
struct OutcomeRecords {
    /// The time for which outcomes of a sheet wait for others.
    private let waitMilliseconds: Int

    // MARK: Outcomes without a record

    /// Sheets whose outcomes are written when the wait is over.
    private var sheetsToWrite: [Sheet] = []
    /// Start of the wait, if there are such sheets.
    private var sheetsToWriteSince = Instant.distantFuture
    /// Sheets with outcomes that wait for a lease.
    private var sheetsWithoutLease: [Sheet] = []

    // MARK: Records

    /// Records without acknowledgement, by id.
    private var unacknowledged: [UInt64: RecordToWrite] = [:]
    /// Ids of records that were not stored, and wait for a lease before they are written again.
    private var recordsWithoutLease: [UInt64] = []
    private var lastID: UInt64 = 0

    /// Divisor for a quarter of the permits (`holdsUpPushes`).
    private static let shareOfPermits = 4

    init(waitMilliseconds: Int) { self.waitMilliseconds = waitMilliseconds }

    /// The time of the next write if no event comes before.
    var nextDue: Instant {
        sheetsToWrite.isEmpty ? .distantFuture : sheetsToWriteSince.advanced(byMilliseconds: waitMilliseconds)
    }

    // MARK: Outcomes

    /// Notes that a sheet has outcomes to be written.
    mutating func add(_ sheet: Sheet, at now: Instant) {
        guard !sheet.awaitsRecord else { return }
        sheet.awaitsRecord = true
        if sheetsToWrite.isEmpty { sheetsToWriteSince = now }
        sheetsToWrite.append(sheet)
    }

    /// Removes the sheets whose outcomes are written now, and returns them. If all lines of a sheet are decided, it
    /// does not wait.
    mutating func takeDue(at now: Instant, permits: Permits) -> [Sheet] {
        guard !sheetsToWrite.isEmpty else { return [] }
        let areAllDue =
            now.milliseconds(since: sheetsToWriteSince) >= waitMilliseconds || holdsUpPushes(permits)
        var due: [Sheet] = []
        var waiting: [Sheet] = []
        for sheet in sheetsToWrite {
            if areAllDue || sheet.undecidedLines == 0 || sheet.lane.isLeaving {
                sheet.awaitsRecord = false
                due.append(sheet)
            } else {
                waiting.append(sheet)
            }
        }
        sheetsToWrite = waiting
        if areAllDue { sheetsToWriteSince = now }
        return due
    }

    /// Whether waiting outcomes hold up pushes, because their permits are missing: less than a quarter of the permits
    /// is free, and at least a quarter belongs to outcomes that wait for the other lines of their sheets.
    private func holdsUpPushes(_ permits: Permits) -> Bool {
        guard permits.free * Self.shareOfPermits < permits.limit else { return false }
        let waitingLineCount = sheetsToWrite.reduce(0) { count, sheet in
            count + (sheet.undecidedLines > 0 ? sheet.unwritten.lineCount : 0)
        }
        return waitingLineCount * Self.shareOfPermits >= permits.limit
    }

    /// Orders the records of a sheet's outcomes. Final outcomes share a receipt. Returns the lines that are left to the
    /// next owner of the lane, because their records must not be written.
    ///
    /// - Parameter leaseTiming: whether records of the lane that need a lease may be written now.
    mutating func write(
        _ sheet: Sheet, leaseTiming: LeaseTiming, at time: CurrentTime, into actions: inout DeliveryActions
    ) -> LineSet {
        let outcomes = sheet.unwritten.takeAll()
        var parts: [Receipt.Part] = []
        var linesInReceipt = outcomes.accepted
        var linesForNextOwner = LineBitmap()
        if !outcomes.accepted.isEmpty {
            parts.append(Receipt.Part(.accepted, lines: sheet.originLines(of: outcomes.accepted.lineSet)))
        }
        for linesOfOutcome in outcomes.others {
            let (outcome, lines) = (linesOfOutcome.outcome, linesOfOutcome.lines)
            let timing: LeaseTiming = outcome.needsLease ? leaseTiming : .now
            switch timing {
            case .never: lines.forEachLine { linesForNextOwner.insert($0) }
            case .later:
                sheet.unwritten.putBack(linesOfOutcome)
                if !sheet.awaitsRecord { sheetsWithoutLease.append(sheet) }
                sheet.awaitsRecord = true
            case .now:
                if let part = sheet.receiptPart(for: outcome, of: lines) {
                    parts.append(part)
                    lines.forEachLine { linesInReceipt.insert($0) }
                } else {
                    orderRecord(for: outcome, of: sheet, lines: lines.lineSet, at: time, into: &actions)
                }
            }
        }
        if !parts.isEmpty {
            order(
                .receipt(parts), of: sheet, lines: linesInReceipt.lineSet, in: sheet.lane, at: time,
                into: &actions)
        }
        return linesForNextOwner.lineSet
    }

    /// Orders a record for an outcome that does not share the receipt. If the record gives jobs to another topic, their
    /// receipt follows when it is stored (`DeliveryPlan.stored`).
    private mutating func orderRecord(
        for outcome: LineOutcome, of sheet: Sheet, lines: LineSet, at time: CurrentTime,
        into actions: inout DeliveryActions
    ) {
        switch outcome {
        case .final: break
        case .released:
            // A receipt with answers of APNs is written without a lease too, and a release must not be. So the release
            // has a separate receipt.
            let part = Receipt.Part(.released, lines: sheet.originLines(of: lines))
            order(.receipt([part]), of: sheet, lines: lines, in: sheet.lane, at: time, into: &actions)
        case .retryInTier(let tier, let tries, let status, let reason):
            let origin = sheet.origin(of: lines, in: tier, tries: tries, reason: reason, at: time)
            order(
                .tier(tier, origin), of: sheet, lines: lines, in: sheet.lane, status: status, reason: reason,
                at: time, into: &actions)
        case .deadLetter(let code, let status, let reason):
            order(
                .deadLetter(code: code), of: sheet, lines: lines, in: sheet.lane, status: status,
                reason: reason, at: time, into: &actions)
        }
    }

    // MARK: Records

    /// Asks the loop to write a record, and keeps it until it is acknowledged.
    ///
    /// - Parameters:
    ///   - sheet: nil for a malformed record.
    ///   - status: the last answer of APNs about jobs that move to a tier or to the dead letters, with its `reason`.
    mutating func order(
        _ content: RecordToWrite.Content, of sheet: Sheet?, lines: LineSet, in lane: Lane,
        status: Int? = nil, reason: String? = nil, at time: CurrentTime, into actions: inout DeliveryActions
    ) {
        lastID += 1
        let write = RecordToWrite(
            content, of: sheet, lines: lines, in: lane, at: time, status: status, reason: reason)
        lane.recordsBeingWritten += 1
        sheet?.recordOrdered(lines)
        if let sheet, case .receipt = content {
            lane[sheet.topic].noteReceipts(about: sheet.offset, from: lane.receiptsEnd)
        }
        unacknowledged[lastID] = write
        actions.writes.append((lastID, write))
    }

    /// Removes a record that is stored, and returns it. Returns nil for an unknown record.
    mutating func acknowledge(_ id: UInt64) -> RecordToWrite? {
        guard let write = unacknowledged.removeValue(forKey: id) else { return nil }
        write.laneInHand.recordsBeingWritten -= 1
        return write
    }

    /// Writes a record again that is not stored, or may not be. If it is stored twice, both copies say the same.
    /// Returns the record if it must not be written any more.
    mutating func writeAgain(
        _ id: UInt64, of lanes: LaneOwnership, at now: Instant, into actions: inout DeliveryActions
    ) -> RecordToWrite? {
        guard var write = unacknowledged[id] else { return nil }
        write.isRepeated = true
        unacknowledged[id] = write
        let timing = write.needsLease ? lanes.leaseTiming(of: write.laneInHand, at: now) : .now
        switch timing {
        case .now: actions.writes.append((id, write))
        case .later: recordsWithoutLease.append(id)
        case .never: return acknowledge(id)
        }
        return nil
    }

    /// The records without acknowledgement, in their order.
    var unacknowledgedIDs: [UInt64] { unacknowledged.keys.sorted() }

    /// Ends the wait for a lease of sheets whose outcomes may be written now, or must not be written any more. Returns
    /// the ids of the records to write again. These may have to wait again.
    mutating func takeWaitingForLease(of lanes: LaneOwnership, at now: Instant) -> [UInt64] {
        if sheetsWithoutLease.isEmpty, recordsWithoutLease.isEmpty { return [] }
        if sheetsToWrite.isEmpty { sheetsToWriteSince = now }
        let sheets = sheetsWithoutLease
        let mustWait = { (sheet: Sheet) in lanes.leaseTiming(of: sheet.lane, at: now) == .later }
        sheetsWithoutLease = sheets.filter { mustWait($0) }
        sheetsToWrite += sheets.filter { !mustWait($0) }
        let ids = recordsWithoutLease
        recordsWithoutLease = []
        return ids
    }
}

extension Sheet {
    /// Returns the part of the shared receipt for an outcome; nil for an outcome that has a separate record.
    fileprivate func receiptPart(for outcome: LineOutcome, of lines: LineBitmap) -> Receipt.Part? {
        switch outcome {
        case .final(let result, let status, let reason):
            Receipt.Part(result, lines: originLines(of: lines.lineSet), status: status, reason: reason)
        case .released, .retryInTier, .deadLetter: nil
        }
    }
}
