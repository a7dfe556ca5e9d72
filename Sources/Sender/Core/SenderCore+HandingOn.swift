internal import LiveActivity

// What a process must not write of lanes that are perhaps another's.
extension SenderCore {
    /// Whether what makes jobs another's to push may be written: a tier's record, and that a start did not leave. Of a
    /// lane that another has had for a while he has pushed them already, and asks `receipts` for them no more.
    ///
    /// Nor before there is a word of ours: a successor who sees none does not wait for what was on its way to a tier.
    func mayHandOn(_ lane: Lane) -> Bool {
        lane.hasLeftWord && moment.now < (lane.phase == .orphaned ? lane.handsOnUntil : leaseUntil)
    }

    /// What was kept back without a lease goes on when there is one, and comes to nothing when the lane was lost.
    mutating func handOn() {
        if keptBack.isEmpty, writesKeptBack.isEmpty { return }
        if unwritten.isEmpty { unwrittenSince = moment.now }
        let sheets = keptBack
        keptBack = []
        for sheet in sheets {
            if mayHandOn(sheet.lane) || sheet.lane.isLeaving {
                unwritten.append(sheet)
            } else {
                keptBack.append(sheet)
            }
        }
        let ids = writesKeptBack
        writesKeptBack = []
        for id in ids {
            guard let write = writes[id], let sheet = write.sheet, write.laneInHand.isLeaving,
                !mayHandOn(write.laneInHand)
            else {
                failed(id)
                continue
            }
            writes[id] = nil
            write.laneInHand.writing -= 1
            forget(sheet, write.lines)
            finishIfDone(sheet)
        }
    }

    /// The jobs are another's: he has them from where we had them.
    mutating func forget(_ sheet: Sheet, _ lines: LineSet) {
        sheet.isAbandoned = true
        done(sheet, lines)
    }
}
