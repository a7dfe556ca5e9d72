internal import LiveActivity

// What a process must not write of lanes that are perhaps another's.
extension SenderCore {
    /// Whether what makes jobs another's to push may be written: a tier's record, and that a start did not leave.
    enum HandingOn {
        case now
        /// When there is a lease.
        case later
        /// The jobs are another's: he has them from where we had them.
        case never
    }

    /// Of a lane that another has had for a while he has pushed them already, and asks `receipts` for them no more.
    func handingOn(_ lane: Lane) -> HandingOn {
        let until = lane.phase == .orphaned ? lane.handsOnUntil : leaseUntil
        if moment.now < until { return .now }
        return lane.isLeaving ? .never : .later
    }

    /// What was kept back is tried again.
    mutating func handOn() {
        if keptBack.isEmpty, writesKeptBack.isEmpty { return }
        if unwritten.isEmpty { unwrittenSince = moment.now }
        let (sheets, ids) = (keptBack, writesKeptBack)
        keptBack = sheets.filter { handingOn($0.lane) == .later }
        unwritten += sheets.filter { handingOn($0.lane) != .later }
        writesKeptBack = []
        for id in ids { failed(id) }
    }

    mutating func forget(_ sheet: Sheet, _ lines: LineSet) {
        sheet.isAbandoned = true
        done(sheet, lines)
    }

    /// It was to hand jobs on and is not stored.
    mutating func forget(_ id: UInt64) {
        guard let write = writes.removeValue(forKey: id), let sheet = write.sheet else { return }
        write.laneInHand.writing -= 1
        forget(sheet, write.lines)
        finishIfDone(sheet)
    }
}
