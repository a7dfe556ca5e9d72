internal import Lifecycle
internal import LiveActivity

// What becomes of lines, and of sheets when all of theirs are done.
extension SenderCore {
    /// A line's last word here, to be written.
    mutating func decide(_ sheet: Sheet, _ line: Int, as what: Sheet.Decided) {
        guard sheet.states[line].step.rawValue < LineStep.answered.rawValue else { return }
        settled(sheet, line)
        sheet.add(what, line)
        if what == .released { sheet.isAbandoned = true }
        noteUnwritten(sheet)
    }

    /// All that has not left and is not about to.
    mutating func decideUnsent(_ sheet: Sheet, as what: Sheet.Decided) {
        for line in 0..<sheet.lineCount {
            switch sheet.states[line].step {
            case .queued, .parked, .waiting:
                if !leavesToTwin(sheet, line) { decide(sheet, line, as: what) }
            case .intending, .inFlight, .late, .answered, .writing, .done: break
            }
        }
        finishIfDone(sheet)
    }

    /// The same job may be on two sheets: one that an earlier owner moved to a tier before he died, and the one
    /// that he moved it from. Of the two the first that is decided counts, once that is stored; the other waits
    /// for it.
    mutating func leavesToTwin(_ sheet: Sheet, _ line: Int) -> Bool {
        guard sheet.asksLedger else { return false }
        let standing = sheet.lane.ledger.standing(
            of: sheet.originLine(line), at: sheet.place, attempt: sheet.attempt)
        if standing == .done {
            skip(sheet, line)
            return true
        }
        return waitsForSubject(sheet, line)
    }

    /// Another push about the same is under way.
    mutating func waitsForSubject(_ sheet: Sheet, _ line: Int) -> Bool {
        if sheet.subjects.isEmpty { sheet.nameSubjects(seed: seed) }
        guard !sheet.states[line].holdsSubject, busy.contains(sheet.subjects[line]) else { return false }
        if sheet.states[line].step != .parked {
            sheet.states[line].step = .parked
            parked[sheet.subjects[line], default: []].append(AppFlow.Again(sheet: sheet, line: line))
        }
        return true
    }

    mutating func hold(_ sheet: Sheet, _ line: Int) {
        guard !sheet.states[line].holdsSubject, busy.insert(sheet.subjects[line]) else { return }
        sheet.states[line].holdsSubject = true
    }

    mutating func accept(_ sheet: Sheet, _ line: Int) {
        settled(sheet, line)
        sheet.accepted.insert(line)
        noteUnwritten(sheet)
    }

    private mutating func settled(_ sheet: Sheet, _ line: Int) {
        leaveIntent(sheet, line)
        if sheet.asksLedger {
            // Until it is stored.
            if sheet.subjects.isEmpty { sheet.nameSubjects(seed: seed) }
            hold(sheet, line)
        } else {
            freeSubject(sheet, line)
        }
        if sheet.states[line].isProbe { giveUpProbe(sheet, line) }
        sheet.states[line].step = .answered
        sheet.undecided -= 1
        if sheet.undecided == 0, sheet.isQueued { sheet.app.noteOver() }
    }

    private mutating func noteUnwritten(_ sheet: Sheet) {
        guard !sheet.isUnwritten else { return }
        sheet.isUnwritten = true
        if unwritten.isEmpty { unwrittenSince = moment.now }
        unwritten.append(sheet)
    }

    /// Nothing is to be written of the line: an earlier owner, or a twin, has done it.
    mutating func skip(_ sheet: Sheet, _ line: Int) {
        guard sheet.states[line].step.rawValue < LineStep.answered.rawValue else { return }
        settled(sheet, line)
        done(sheet, line)
    }

    /// The line is the next owner's.
    mutating func abandon(_ sheet: Sheet, _ line: Int) {
        guard sheet.states[line].step.rawValue < LineStep.answered.rawValue else { return }
        if sheet.states[line].hasIntent { return decide(sheet, line, as: .released) }
        sheet.isAbandoned = true
        skip(sheet, line)
    }

    /// Its outcome is stored.
    mutating func done(_ sheet: Sheet, _ line: Int) {
        guard sheet.states[line].step != .done else { return }
        sheet.states[line].step = .done
        sheet.unfinished -= 1
        givePermit(sheet, line)
        freeSubject(sheet, line)
    }

    /// Likewise of many lines.
    mutating func done(_ sheet: Sheet, _ lines: LineSet) {
        var given = 0
        for range in lines.ranges {
            for line in range {
                let state = sheet.states[line]
                guard state.step != .done else { continue }
                if state.hasPermit { given += 1 }
                sheet.states[line].hasPermit = false
                sheet.states[line].step = .done
                sheet.unfinished -= 1
                freeSubject(sheet, line)
            }
        }
        permits.give(given)
        sheet.app.permits -= given
    }

    mutating func takePermit(_ sheet: Sheet, _ line: Int) {
        guard !sheet.states[line].hasPermit else { return }
        sheet.states[line].hasPermit = true
        permits.take()
        sheet.app.permits += 1
    }

    mutating func givePermit(_ sheet: Sheet, _ line: Int) {
        guard sheet.states[line].hasPermit else { return }
        sheet.states[line].hasPermit = false
        permits.give()
        sheet.app.permits -= 1
    }

    /// All of its lines are done.
    mutating func finish(_ sheet: Sheet) {
        guard sheet.slot >= 0 else { return }
        let lane = sheet.lane
        if !sheet.isAbandoned { lane.tracks[sheet.topic.rawValue].tracker.finished(sheet.offset) }
        handRoom.remove(sheet.cost, of: sheet.topic)
        slots[sheet.slot] = nil
        freeSlots.append(sheet.slot)
        sheet.slot = -1
        lane.sheets -= 1
        sheet.app.sheets -= 1
        if sheet.app.sheets == 0 { sheet.app.silence.end() }
        if let group = sheet.group, let list = sheetsOfGroup[group] {
            list.remove(sheet)
            if list.sheets.isEmpty { sheetsOfGroup[group] = nil }
        }
        sheet.template = nil
        sheet.content = SheetContent(body: [], apns: [], flotilla: [], to: [])
    }

    mutating func finishIfDone(_ sheet: Sheet) {
        if sheet.unfinished == 0 { finish(sheet) }
    }

    /// Another push about the same may leave.
    mutating func freeSubject(_ sheet: Sheet, _ line: Int) {
        guard sheet.states[line].holdsSubject else { return }
        sheet.states[line].holdsSubject = false
        busy.remove(sheet.subjects[line])
        if parked.isEmpty { return }
        for next in parked.removeValue(forKey: sheet.subjects[line]) ?? []
        where next.sheet.slot >= 0 && next.sheet.states[next.line].step == .parked {
            comeAgain(next.sheet, next.line)
        }
    }

    mutating func comeAgain(_ sheet: Sheet, _ line: Int) {
        sheet.states[line].step = .queued
        sheet.states[line].isAgain = true
        sheet.app.again.append(AppFlow.Again(sheet: sheet, line: line))
    }

    func tag(_ sheet: Sheet, _ line: Int) -> UInt64 { UInt64(sheet.slot) << 16 | UInt64(line) }

    /// A start that was about to leave does so, or never will.
    func leaveIntent(_ sheet: Sheet, _ line: Int) {
        guard sheet.states[line].hasIntent || sheet.states[line].step == .intending else { return }
        if sheet.states[line].step != .inFlight, sheet.states[line].step != .late {
            sheet.countIntent(line, -1)
        }
    }
}

extension Sheet {
    /// Counts an intent where its start takes room: on the connections of suspects, or on the others.
    func countIntent(_ line: Int, _ count: Int) {
        if states[line].isSuspect { app.suspectsIntended += count } else { app.intended += count }
    }

    /// Lines that share what becomes of them share a record.
    func add(_ what: Decided, _ line: Int) {
        for index in decided.indices.reversed() where decided[index].what == what {
            decided[index].lines.insert(line)
            return
        }
        var lines = LineBits()
        lines.insert(line)
        decided.append((what, lines))
    }
}
