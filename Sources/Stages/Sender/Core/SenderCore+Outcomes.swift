internal import Lifecycle
internal import LiveActivity

// The outcomes of lines, and the end of sheets.
extension SenderCore {
    /// Decides the outcome of a line in this process. The outcome is written later.
    mutating func decide(_ sheet: Sheet, _ line: Int, as what: Sheet.Decided) {
        guard sheet.states[line].step.rawValue < LineStep.answered.rawValue else { return }
        settled(sheet, line)
        sheet.add(what, line)
        if what == .released { sheet.isAbandoned = true }
        noteUnwritten(sheet)
    }

    /// Decides the same outcome for all lines that have not left and are not about to leave.
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

    /// Returns whether a twin has done the line's job, or is about to. The same job may be on two sheets: an
    /// earlier owner may have moved it to a tier and then died, so that it still lies on the first sheet. The
    /// twin that is decided first counts, once its outcome is stored. The other one waits for that.
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

    /// Returns whether the line has to wait because another push to the same subject is under way.
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
            // The subject stays held until the outcome is stored.
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

    /// Ends a line without a record, because an earlier owner or a twin has done its job.
    mutating func skip(_ sheet: Sheet, _ line: Int) {
        guard sheet.states[line].step.rawValue < LineStep.answered.rawValue else { return }
        settled(sheet, line)
        done(sheet, line)
    }

    /// Leaves a line to the next owner of the lane.
    mutating func abandon(_ sheet: Sheet, _ line: Int) {
        guard sheet.states[line].step.rawValue < LineStep.answered.rawValue else { return }
        if sheet.states[line].hasIntent { return decide(sheet, line, as: .released) }
        sheet.isAbandoned = true
        skip(sheet, line)
    }

    /// Ends a line whose outcome is stored.
    mutating func done(_ sheet: Sheet, _ line: Int) {
        guard sheet.states[line].step != .done else { return }
        sheet.states[line].step = .done
        sheet.unfinished -= 1
        givePermit(sheet, line)
        freeSubject(sheet, line)
    }

    /// Ends many lines whose outcomes are stored.
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

    /// Removes a sheet whose lines are all done.
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

    /// Frees the line's subject, so that another push to it may leave.
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

    /// Stops counting the intent of a start, because the start leaves now or never.
    func leaveIntent(_ sheet: Sheet, _ line: Int) {
        guard sheet.states[line].hasIntent || sheet.states[line].step == .intending else { return }
        if sheet.states[line].step != .inFlight, sheet.states[line].step != .late {
            sheet.countIntent(line, -1)
        }
    }
}

extension Sheet {
    /// Counts an intent for the connections that its start will use: the suspect ones or the others.
    func countIntent(_ line: Int, _ count: Int) {
        if states[line].isSuspect { app.suspectsIntended += count } else { app.intended += count }
    }

    /// Adds a line to the decided ones. Lines with the same outcome share a record.
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
