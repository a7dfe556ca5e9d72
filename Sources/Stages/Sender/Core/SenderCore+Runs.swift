internal import Lifecycle
internal import LiveActivity

// Runs of lines that need no special treatment. Nearly all lines leave this way, many at a time, and checks
// that hold for the whole sheet are made once. A line that needs its own checks ends the run and is served
// alone.
extension SenderCore {
    /// Pushes lines from the cursor on.
    ///
    /// - Returns: the number of pushed lines; 0 if the line at the cursor has to be served alone; nil if the
    ///   sheet has changed and must be checked again.
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

    /// Takes over outcomes of the sheet's jobs that a twin has stored meanwhile.
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
    /// Whether its lines need only a permit, room and a free subject. Starts also need an intent, and jobs
    /// from a tier may have a twin.
    var isPlain: Bool { head.event != .start && originLines == nil }
}

extension LineState {
    /// Whether the line is not in its first state, so that it is served alone.
    var isSpecial: Bool { hasPermit || hasIntent || holdsSubject || isSuspect || isProbe }
}

extension AppFlow {
    /// Returns the number of lines that may leave before the other class has its turn.
    func shareOfRun(isUsual: Bool) -> Int {
        if isUsual { return urgent.isEmpty ? .max : 1 }
        return usual.isEmpty ? .max : max(1, Self.usualEvery - 1 - urgentRun)
    }
}
