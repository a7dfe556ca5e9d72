internal import LiveActivity

// Records that a process must not write for lanes that may belong to another process.
extension SenderCore {
    /// When a record that hands jobs to another attempt or owner may be written. Such a record is a tier's
    /// record, or the release of a start's intent.
    enum HandingOn {
        case now
        /// The record waits for a lease.
        case later
        /// The next owner reads the jobs from the same offset, so the record must not be written.
        case never
    }

    /// Returns when jobs of a lane may be handed on. After another process has owned the lane for some time,
    /// it has pushed the jobs and no longer reads `receipts` for them.
    func handingOn(_ lane: Lane) -> HandingOn {
        let until = lane.phase == .orphaned ? lane.handsOnUntil : leaseUntil
        if moment.now < until { return .now }
        return lane.isLeaving ? .never : .later
    }

    /// Writes the sheets and records that were kept back, if this is allowed now.
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

    /// Forgets a record that was to hand jobs on and is not stored.
    mutating func forget(_ id: UInt64) {
        guard let write = writes.removeValue(forKey: id), let sheet = write.sheet else { return }
        write.laneInHand.writing -= 1
        forget(sheet, write.lines)
        finishIfDone(sheet)
    }
}
