internal import Lifecycle
internal import LiveActivity

// Records, and the effects of their acknowledgements.
extension SenderCore {
    /// The divisor for a quarter of the permits.
    private static var goodPart: Int { 4 }

    mutating func order(
        _ kind: SenderWrite.Kind, of sheet: Sheet?, lines: LineSet, in lane: Lane,
        status: Int? = nil, reason: String? = nil
    ) {
        lastWrite += 1
        var unplaced: Int?
        if case .tier(let tier, _) = kind, lane.isSettled {
            unplaced = lane.tracks[tier.jobs.rawValue].unplaced
        }
        let write = SenderWrite(
            kind: kind, sheet: sheet, lines: lines, lane: lane.number, at: moment.wall, status: status,
            reason: reason, laneInHand: lane, receiptsFrom: lane.receiptsEnd, unplacedBefore: unplaced)
        lane.writing += 1
        if let sheet, case .receipt = kind {
            lane.tracks[sheet.topic.rawValue].tracker.wrote(sheet.offset, receiptsFrom: lane.receiptsEnd)
        }
        writes[lastWrite] = write
        orders.writes.append((lastWrite, write))
    }

    /// Writes decided outcomes. A sheet that is decided completely is written at once. Other sheets wait a
    /// moment so that many outcomes share a record, because a record is usually a separate request to the
    /// cluster.
    mutating func write() {
        guard !unwritten.isEmpty else { return }
        let isDue =
            moment.now.milliseconds(since: unwrittenSince) >= limits.receiptMilliseconds || holdsPermitsUp
        var left: [Sheet] = []
        for sheet in unwritten {
            if isDue || sheet.undecided == 0 || sheet.lane.isLeaving {
                sheet.isUnwritten = false
                write(sheet)
            } else {
                left.append(sheet)
            }
        }
        unwritten = left
        if isDue { unwrittenSince = moment.now }
    }

    /// Whether less than a quarter of the permits is free while at least a quarter waits for sheets that are
    /// not decided completely.
    private var holdsPermitsUp: Bool {
        guard permits.free * Self.goodPart < permits.limit else { return false }
        let waiting = unwritten.reduce(0) { $0 + ($1.undecided > 0 ? $1.unwrittenLines : 0) }
        return waiting * Self.goodPart >= permits.limit
    }

    private mutating func write(_ sheet: Sheet) {
        var parts: [Receipt.Part] = []
        var all = sheet.accepted
        if !all.isEmpty { parts.append(Receipt.Part(.accepted, sheet.origin(of: all.set))) }
        let handing = handingOn(sheet.lane)
        let decided = sheet.decided
        sheet.decided.removeAll(keepingCapacity: true)
        sheet.accepted.removeAll()
        for (what, lines) in decided {
            let set = lines.set
            switch what {
            case .final(let outcome, let status, let reason):
                parts.append(Receipt.Part(outcome, sheet.origin(of: set), status: status, reason: reason))
                lines.forEachLine { all.insert($0) }
            case .released where handing == .never, .later where handing == .never: forget(sheet, set)
            case .released where handing == .later, .later where handing == .later:
                sheet.decided.append((what, lines))
            case .released:
                parts.append(Receipt.Part(.released, sheet.origin(of: set)))
                lines.forEachLine { all.insert($0) }
            case .later(let tier, let tries, let status, let reason):
                advance(sheet, set, to: .writing)
                let origin = sheet.nextOrigin(set, in: tier, tries: tries, reason: reason, wall: moment.wall)
                order(
                    .tier(tier, origin), of: sheet, lines: set, in: sheet.lane, status: status, reason: reason
                )
            case .letter(let code, let status, let reason):
                advance(sheet, set, to: .writing)
                order(
                    .letter(code: code), of: sheet, lines: set, in: sheet.lane, status: status, reason: reason
                )
            }
        }
        if !sheet.decided.isEmpty {
            sheet.isUnwritten = true
            keptBack.append(sheet)
        }
        guard !parts.isEmpty else { return finishIfDone(sheet) }
        let set = all.set
        advance(sheet, set, to: .writing)
        order(.receipt(parts), of: sheet, lines: set, in: sheet.lane)
    }

    private func advance(_ sheet: Sheet, _ lines: LineSet, to step: LineStep) {
        lines.forEachLine { sheet.states[$0].step = step }
    }

    // MARK: Acknowledgements

    /// Handles a record that is stored.
    ///
    /// - Parameter offset: the record's offset in its partition; nil if it is unknown.
    package mutating func stored(_ id: UInt64, at offset: Int64?, _ moment: Moment) {
        self.moment = moment
        permits.open()
        guard let write = writes.removeValue(forKey: id) else { return }
        let lane = write.laneInHand
        lane.writing -= 1
        switch write.kind {
        case .malformed(let malformed):
            lane.tracks[malformed.topic.rawValue].tracker.finished(malformed.offset)
        case .receipt(let parts):
            if let offset { lane.receiptsEnd = max(lane.receiptsEnd, offset + 1) }
            guard let sheet = write.sheet else { return }
            if parts.first?.outcome == .intent {
                intended(sheet, write.lines)
            } else {
                if sheet.asksLedger {
                    lane.ledger.note(
                        sheet.place, attempt: sheet.attempt, parts, isNews: sheet.originLines != nil)
                }
                done(sheet, write.lines)
                finishIfDone(sheet)
            }
        case .tier(let tier, let origin):
            if write.isRepeated || write.sheet?.asksLedger == true {
                lane.hold(tier.jobs, at: offset, receiptsFrom: write.receiptsFrom)
            }
            if let offset, let unplaced = write.unplacedBefore {
                lane.tracks[tier.jobs.rawValue].wrote(at: offset, unplacedBefore: unplaced)
            }
            mark(write, .moved, status: write.status, reason: write.reason, dueAt: origin.dueAt)
        case .letter(let code):
            mark(write, .rejected, status: write.status, reason: write.reason ?? code)
        }
    }

    /// Writes the receipt for jobs that are now stored in another topic.
    private mutating func mark(
        _ write: SenderWrite, _ outcome: ReceiptOutcome, status: Int?, reason: String?, dueAt: Int64? = nil
    ) {
        guard let sheet = write.sheet else { return }
        let part = Receipt.Part(
            outcome, sheet.origin(of: write.lines), status: status, reason: reason, dueAt: dueAt)
        order(.receipt([part]), of: sheet, lines: write.lines, in: write.laneInHand)
    }

    private mutating func intended(_ sheet: Sheet, _ lines: LineSet) {
        lines.forEachLine { line in
            guard sheet.states[line].step == .intending else { return }
            sheet.states[line].hasIntent = true
            comeAgain(sheet, line)
        }
        if sheet.lane.isLeaving {
            lines.forEachLine { abandon(sheet, $0) }
        } else {
            dropIfStale(sheet)
        }
    }

    /// Writes a record again that is not stored, or may not be. If a receipt or a tier's record is stored
    /// twice, both copies say the same.
    package mutating func failed(_ id: UInt64) {
        guard let write = writes[id] else { return }
        writes[id]?.isRepeated = true
        guard case .tier = write.kind else { return orders.writes.append((id, write)) }
        switch handingOn(write.laneInHand) {
        case .now: orders.writes.append((id, write))
        case .later: writesKeptBack.append(id)
        case .never: forget(id)
        }
    }

    /// Writes all unacknowledged records again, in their order. None of them will be acknowledged any more.
    package mutating func failedAll() {
        for id in writes.keys.sorted() { failed(id) }
    }
}

extension Sheet {
    fileprivate func nextOrigin(
        _ lines: LineSet, in tier: LaterTier, tries: Int, reason: String?, wall: Int64
    ) -> SheetOrigin {
        SheetOrigin(
            topic: place.topic, partition: place.partition, offset: place.offset, lines: origin(of: lines),
            attempt: min(attempt + 1, SheetOrigin.attemptMax), tries: tries,
            dueAt: wall + Int64(tier.waitMilliseconds), reason: reason)
    }
}
