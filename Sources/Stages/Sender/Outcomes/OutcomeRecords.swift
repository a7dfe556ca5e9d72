internal import Jobs
internal import Lifecycle

/// The records about decided lines, from the decision to the acknowledgement.
///
/// A sheet with new outcomes waits for a moment, so that many outcomes share a record. A record is usually a separate
/// request to the cluster. Transfers, the records that give jobs to a later attempt or to the next owner, wait for a
/// lease. Every record is written until it is acknowledged or must not be written any more.
struct OutcomeRecords {
    private let waitMilliseconds: Int
    /// Sheets with outcomes that are not written.
    private var unwritten: [Sheet] = []
    private var unwrittenSince = Instant.distantFuture
    /// Sheets whose transfers wait for a lease.
    private var sheetsWithoutLease: [Sheet] = []
    /// Transfers that were not stored, and wait for a lease before they are written again.
    private var recordsWithoutLease: [UInt64] = []
    private var unacknowledged: [UInt64: RecordToWrite] = [:]
    private var lastID: UInt64 = 0

    /// Divisor for the share of the permits that is free, or waits for records.
    private static let shareOfPermits = 4

    init(waitMilliseconds: Int) { self.waitMilliseconds = waitMilliseconds }

    /// The time of the next write if no event comes before.
    var nextDue: Instant {
        unwritten.isEmpty ? .distantFuture : unwrittenSince.advanced(byMilliseconds: waitMilliseconds)
    }

    // MARK: Outcomes

    /// Notes that a sheet has outcomes to be written.
    mutating func add(_ sheet: Sheet, at now: Instant) {
        guard !sheet.awaitsRecord else { return }
        sheet.awaitsRecord = true
        if unwritten.isEmpty { unwrittenSince = now }
        unwritten.append(sheet)
    }

    /// Returns the sheets whose outcomes are written now. A sheet that is decided completely is written at
    /// once.
    mutating func takeDue(at now: Instant, permits: Permits) -> [Sheet] {
        guard !unwritten.isEmpty else { return [] }
        let areAllDue =
            now.milliseconds(since: unwrittenSince) >= waitMilliseconds || holdsUp(permits)
        var due: [Sheet] = []
        var waiting: [Sheet] = []
        for sheet in unwritten {
            if areAllDue || sheet.undecidedLines == 0 || sheet.lane.isLeaving {
                sheet.awaitsRecord = false
                due.append(sheet)
            } else {
                waiting.append(sheet)
            }
        }
        unwritten = waiting
        if areAllDue { unwrittenSince = now }
        return due
    }

    /// Whether less than a quarter of the permits is free while at least a quarter waits for sheets that are
    /// not decided completely.
    private func holdsUp(_ permits: Permits) -> Bool {
        guard permits.free * Self.shareOfPermits < permits.limit else { return false }
        let waitingLines = unwritten.reduce(0) { $0 + ($1.undecidedLines > 0 ? $1.unwrittenLines : 0) }
        return waitingLines * Self.shareOfPermits >= permits.limit
    }

    /// Orders the records of a sheet's outcomes. Final outcomes share a receipt. Returns the lines that
    /// the next owner of the lane takes over, because their records must not be written.
    mutating func write(
        _ sheet: Sheet, transfers: TransferTiming, at time: CurrentTime, into actions: inout DeliveryActions
    ) -> LineSet {
        let (accepted, others) = sheet.takeOutcomes()
        var parts: [Receipt.Part] = []
        var linesInReceipt = accepted
        var forgotten = LineBitmap()
        if !accepted.isEmpty {
            parts.append(Receipt.Part(.accepted, lines: sheet.originLines(of: accepted.lineSet)))
        }
        for (outcome, lines) in others {
            switch outcome.isTransfer ? transfers : .now {
            case .never: lines.forEachLine { forgotten.insert($0) }
            case .later:
                sheet.putBackOutcome(outcome, of: lines)
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
        return forgotten.lineSet
    }

    /// Orders the record of an outcome that has a separate record. If jobs go to another topic, their receipt follows
    /// when that record is stored.
    private mutating func orderRecord(
        for outcome: LineOutcome, of sheet: Sheet, lines: LineSet, at time: CurrentTime,
        into actions: inout DeliveryActions
    ) {
        switch outcome {
        case .final: break
        case .released:
            // A release must not be written without a lease, and final outcomes must be. So it has a separate receipt.
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

    /// Asks the loop to write a record.
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
        switch write.isTransfer ? lanes.transferTiming(of: write.laneInHand, at: now) : .now {
        case .now: actions.writes.append((id, write))
        case .later: recordsWithoutLease.append(id)
        case .never: return acknowledge(id)
        }
        return nil
    }

    /// The records without acknowledgement, in their order.
    var unacknowledgedIDs: [UInt64] { unacknowledged.keys.sorted() }

    /// Ends the wait for a lease of sheets whose transfers may be written, or must not be written. Returns the
    /// transfers to write again, which may have to wait again.
    mutating func takeTransfers(of lanes: LaneOwnership, at now: Instant) -> [UInt64] {
        if sheetsWithoutLease.isEmpty, recordsWithoutLease.isEmpty { return [] }
        if unwritten.isEmpty { unwrittenSince = now }
        let sheets = sheetsWithoutLease
        let mustWait = { lanes.transferTiming(of: $0, at: now) == .later }
        sheetsWithoutLease = sheets.filter { mustWait($0.lane) }
        unwritten += sheets.filter { !mustWait($0.lane) }
        defer { recordsWithoutLease = [] }
        return recordsWithoutLease
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
