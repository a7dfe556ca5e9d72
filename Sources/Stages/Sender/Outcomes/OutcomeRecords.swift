internal import Lifecycle
internal import LiveActivity

/// The records about decided lines, from the decision to the acknowledgement.
///
/// A sheet with new outcomes waits a moment so that many outcomes share a record, because a record is usually a
/// separate request to the cluster. Records that transfer jobs wait for a lease. Every record is written until it
/// is acknowledged or must not be written any more.
struct OutcomeRecords {
    private let waitMilliseconds: Int
    private var unwritten: [Sheet] = []
    private var unwrittenSince = Instant.distantFuture
    /// Sheets and failed records that transfer jobs and wait for a lease.
    private var sheetsWithoutLease: [Sheet] = []
    private var recordsWithoutLease: [UInt64] = []
    private var unacknowledged: [UInt64: RecordToWrite] = [:]
    private var lastID: UInt64 = 0

    /// The divisor for a quarter of the permits.
    private static let quarter = 4

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
        let isDue =
            now.milliseconds(since: unwrittenSince) >= waitMilliseconds || holdsUp(permits)
        var due: [Sheet] = []
        var left: [Sheet] = []
        for sheet in unwritten {
            if isDue || sheet.undecided == 0 || sheet.lane.isLeaving {
                sheet.awaitsRecord = false
                due.append(sheet)
            } else {
                left.append(sheet)
            }
        }
        unwritten = left
        if isDue { unwrittenSince = now }
        return due
    }

    /// Whether less than a quarter of the permits is free while at least a quarter waits for sheets that are
    /// not decided completely.
    private func holdsUp(_ permits: Permits) -> Bool {
        guard permits.free * Self.quarter < permits.limit else { return false }
        let waiting = unwritten.reduce(0) { $0 + ($1.undecided > 0 ? $1.unwrittenLines : 0) }
        return waiting * Self.quarter >= permits.limit
    }

    /// Orders the records of a sheet's outcomes. Returns the lines that the next owner of the lane takes over,
    /// because their records must not be written.
    mutating func write(
        _ sheet: Sheet, transfers: TransferTiming, at time: CurrentTime, into actions: inout DeliveryActions
    ) -> LineSet {
        var parts: [Receipt.Part] = []
        var forgotten = LineBitmap()
        let (accepted, others) = sheet.takeOutcomes()
        var inReceipt = accepted
        if !accepted.isEmpty {
            parts.append(Receipt.Part(.accepted, lines: sheet.originLines(of: accepted.lineSet)))
        }
        for (outcome, lines) in others {
            switch (outcome, outcome.isTransfer ? transfers : .now) {
            case (_, .never): lines.forEachLine { forgotten.insert($0) }
            case (_, .later):
                sheet.putBack(outcome, of: lines)
                if !sheet.awaitsRecord { sheetsWithoutLease.append(sheet) }
                sheet.awaitsRecord = true
            case (.final(let result, let status, let reason), .now):
                let numbers = sheet.originLines(of: lines.lineSet)
                parts.append(Receipt.Part(result, lines: numbers, status: status, reason: reason))
                lines.forEachLine { inReceipt.insert($0) }
            case (.released, .now):
                parts.append(Receipt.Part(.released, lines: sheet.originLines(of: lines.lineSet)))
                lines.forEachLine { inReceipt.insert($0) }
            case (.later(let tier, let tries, let status, let reason), .now):
                let set = lines.lineSet
                let origin = sheet.origin(of: set, in: tier, tries: tries, reason: reason, at: time)
                order(
                    .tier(tier, origin), of: sheet, lines: set, in: sheet.lane, status: status,
                    reason: reason, at: time, into: &actions)
            case (.deadLetter(let code, let status, let reason), .now):
                order(
                    .deadLetter(code: code), of: sheet, lines: lines.lineSet, in: sheet.lane, status: status,
                    reason: reason, at: time, into: &actions)
            }
        }
        if !parts.isEmpty {
            order(
                .receipt(parts), of: sheet, lines: inReceipt.lineSet, in: sheet.lane, at: time, into: &actions
            )
        }
        return forgotten.lineSet
    }

    // MARK: Records

    /// Orders a record.
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
            lane[sheet.topic].wroteReceipt(about: sheet.offset, from: lane.receiptsEnd)
        }
        unacknowledged[lastID] = write
        actions.writes.append((lastID, write))
    }

    /// Returns a record that is stored. Returns nil for an unknown one.
    mutating func acknowledge(_ id: UInt64) -> RecordToWrite? {
        guard let write = unacknowledged.removeValue(forKey: id) else { return nil }
        write.laneInHand.recordsBeingWritten -= 1
        return write
    }

    /// Writes a record again that is not stored, or may not be. If a receipt or a tier's record is stored
    /// twice, both copies say the same. Returns the record if it must not be written any more.
    mutating func writeAgain(
        _ id: UInt64, of lanes: LaneOwnership, at now: Instant, into actions: inout DeliveryActions
    ) -> RecordToWrite? {
        guard let write = unacknowledged[id] else { return nil }
        unacknowledged[id]?.isRepeated = true
        switch write.isTransfer ? lanes.transferTiming(of: write.laneInHand, at: now) : .now {
        case .now: actions.writes.append((id, write))
        case .later: recordsWithoutLease.append(id)
        case .never: return acknowledge(id)
        }
        return nil
    }

    /// The records without acknowledgement, in their order.
    var unacknowledgedIDs: [UInt64] { unacknowledged.keys.sorted() }

    /// Ends the wait of sheets that may be written, or must not be written, by now. Returns the failed records
    /// to write again.
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
