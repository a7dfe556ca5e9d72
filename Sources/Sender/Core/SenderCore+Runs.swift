internal import Lifecycle
internal import LiveActivity

// Lines that nothing is in the way of: nearly all. They leave many at a time, and what all lines of a sheet share
// is looked at once; a line that wants a closer look ends the run and is served by itself.
extension SenderCore {
    /// Pushes lines from the cursor on.
    ///
    /// - Returns: how many; 0 where the line at the cursor has to be served by itself, nil where the sheet changed
    ///   and has to be looked at anew.
    mutating func pushRun(
        of sheet: Sheet, isUsual: Bool, in turn: inout AppTurn,
        by way: (Sheet, _ isSuspect: Bool) -> PushWay
    ) -> Int? {
        let app = sheet.app
        guard sheet.isPlain, !app.breaker.isOpen, !moment.isPast(sheet.head.deadline), turn.permits > 0
        else { return 0 }
        if sheet.asksLedger {
            if dropIfStale(sheet) { return nil }
            if sheet.ledgerSeen != sheet.lane.ledger.revision {
                heedNews(of: sheet)
                return nil
            }
        }
        guard case .open(let room) = room(for: sheet, isSuspect: false, by: way), room > 0 else { return 0 }
        if sheet.subjects.isEmpty { sheet.nameSubjects(seed: seed) }
        let share = app.shareOfRun(isUsual: isUsual)
        let most = min(room, turn.permits, share, AppFlow.turnLinesMax - turn.lines)
        let count = pushLines(of: sheet, atMost: most)
        app.room? -= count
        app.permits += count
        turn.permits -= count
        sheet.lane.inFlight += count
        app.inFlight += count
        if count > 0 {
            sheet.isBegun = true
            app.silence.begin(at: moment.now)
        }
        permits.take(count)
        return count
    }

    private mutating func pushLines(of sheet: Sheet, atMost most: Int) -> Int {
        var line = sheet.cursor
        var count = 0
        while line < sheet.lineCount, count < most {
            let state = sheet.states[line]
            if state.step != .queued || state.isAgain {
                line += 1
                continue
            }
            let subject = sheet.subjects[line]
            guard !state.isSpecial, failed.count == 0 || failed[subject] == nil,
                !sheet.isOutdated(line, by: newest), busy.insert(subject)
            else { break }
            sheet.states[line].step = .inFlight
            sheet.states[line].hasPermit = true
            sheet.states[line].holdsSubject = true
            orders.pushes.append(SenderOrders.Push(sheet: sheet, line: line, isSuspect: false))
            count += 1
            line += 1
        }
        sheet.cursor = line
        return count
    }

    /// What became known meanwhile of jobs of the sheet, by a twin of theirs.
    private mutating func heedNews(of sheet: Sheet) {
        let ledger = sheet.lane.ledger
        sheet.ledgerSeen = ledger.revision
        guard ledger.knows(sheet.place) else { return }
        for line in 0..<sheet.lineCount where sheet.isFresh(line) {
            let standing = ledger.standing(
                of: sheet.originLine(line), at: sheet.place, attempt: sheet.attempt)
            if standing == .done { skip(sheet, line) }
        }
        finishIfDone(sheet)
    }
}

extension Sheet {
    /// None of its lines needs more than a permit, room and a free subject: starts need their intent, and what waited
    /// in a tier may have a twin.
    var isPlain: Bool { head.event != .start && originLines == nil }
}

extension LineState {
    /// It has a story, and is served by itself.
    var isSpecial: Bool { hasPermit || hasIntent || holdsSubject || isSuspect || isProbe }
}

extension AppFlow {
    /// Lines that may leave before the other class has its turn.
    func shareOfRun(isUsual: Bool) -> Int {
        if isUsual { return urgent.isEmpty ? .max : 1 }
        return usual.isEmpty ? .max : max(1, Self.usualEvery - 1 - urgentRun)
    }
}
