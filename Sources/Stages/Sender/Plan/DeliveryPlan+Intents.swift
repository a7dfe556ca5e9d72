internal import APNs
internal import Jobs
internal import Lifecycle

// The intents of starts. An intent is a receipt that says that a start is about to leave. A start leaves only when its
// intent is stored. So after a crash the next owner of the lane knows that the start may have left, and by default does
// not repeat it (`SheetHead.unknownStartPolicy`).
extension DeliveryPlan {
    /// Orders one receipt with the intents of the first start, and of later starts of its sheet that may leave with it.
    ///
    /// - Parameters:
    ///   - first: the line for which `LineDecision` has decided that its intent is stored.
    ///   - countMax: limit of intents, by the free permits and the room on the connections.
    mutating func storeIntents(
        of sheet: Sheet, from first: Int, atMost countMax: Int, in turn: inout AppTurn
    ) {
        // `LineDecision` lets an intent be stored only if a permit and room on the connections are free.
        precondition(countMax > 0, "a start stores its intent without a permit or without room")
        var intentsLeft = sheet.mustStoreIntentAlone(of: first) ? 1 : countMax
        var lines = LineSet()
        for line in first..<sheet.lineCount where intentsLeft > 0 {
            guard line == first || mayStoreIntentWithFirst(sheet, line: line) else { continue }
            turn.permitsLeft -= claims.takePermit(sheet, line: line)
            sheet.move(line, on: .intentOrdered)
            claims.holdSubject(sheet, line: line)
            lines.append(line)
            intentsLeft -= 1
        }
        sheet.hasUsedTurn = true
        records.order(
            .receipt([Receipt.Part(.intent, lines: sheet.originLines(of: lines))]), of: sheet, lines: lines,
            in: sheet.lane, at: time, into: &actions)
    }

    /// Returns whether a later line is unsent and may store its intent with the first one. `LineDecision` has made the
    /// checks of the whole sheet for the first line. Two of its checks of single lines are not repeated here: whether
    /// the recipient is erased, because erased lines of queued sheets are dropped at once; and whether the activity has
    /// a newer version, because a start has no activity yet.
    private mutating func mayStoreIntentWithFirst(_ sheet: Sheet, line: Int) -> Bool {
        sheet.isUnsent(line) && connections(for: sheet, line: line) == .usual
            && !claims.isSubjectBusy(sheet, line: line)
    }

    /// Lets the starts leave whose intents are stored, unless they have become stale or the lane is given up.
    mutating func intentIsStored(_ sheet: Sheet, lines: LineSet) {
        lines.forEachLine { line in
            guard sheet.states[line].stage == .storingIntent else { return }
            sheet.reserve(.permitAndIntent, for: line)
            sheet.app.requeue(QueuedLine(sheet: sheet, line: line))
        }
        if sheet.lane.isLeaving {
            lines.forEachLine { leaveToNextOwner(sheet, line: $0) }
        } else {
            dropIfStale(sheet)
        }
    }
}

extension Sheet {
    /// Returns whether the intent of a start needs a separate receipt. Otherwise intents of later lines join it.
    fileprivate func mustStoreIntentAlone(of line: Int) -> Bool {
        // Only one push may probe.
        if states[line].isProbe { return true }
        // The intents that join it are of lines for the usual connections.
        if states[line].connections != .usual { return true }
        // A requeued line leaves outside the order of its sheet.
        if line != cursor { return true }
        // A later line may have a duplicate, which `mayStoreIntentWithFirst` does not check.
        return needsLedger
    }
}
