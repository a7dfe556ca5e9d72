internal import Lifecycle
internal import LiveActivity

// An app that waits for APNs makes room for the others.
//
// Sheets are begun only within a window above the committed offset, and only so many bytes are in hand. Where
// an app's pushes do not get on, its sheets would hold both, and with them every other app in the same lanes.
// So they go to a later tier, uncounted, as soon as something is read behind them that may not begin.
extension SenderCore {
    private static let roomMilliseconds = 250

    mutating func makeRoom() {
        guard moment.now >= nextRoom else { return }
        nextRoom = moment.now.advanced(byMilliseconds: Self.roomMilliseconds)
        for app in rotation where app.areSuspectsStuck(at: moment.now) { moveSuspects(of: app) }
        guard isShared, rotation.contains(where: { $0.isSilent(at: moment.now) }) else { return }
        for sheet in slots.compactMap({ $0 })
        where sheet.undecided > 0 && isBegun(sheet) && holdsUpOthers(sheet) {
            decideUnsent(
                sheet, as: .later(sheet.roomTier, tries: sheet.tries, status: nil, reason: "apns_silent"))
        }
    }

    /// The connections of suspects take nothing: lines that hold up others go to a tier.
    private mutating func moveSuspects(of app: AppFlow) {
        var left = Queue<AppFlow.Again>()
        while let next = app.suspects.first {
            app.suspects.removeFirst()
            guard next.sheet.slot >= 0, next.sheet.states[next.line].step == .queued else { continue }
            if hasSheetsBehind(next.sheet), !next.sheet.lane.isLeaving {
                moveSuspect(next.sheet, next.line)
            } else {
                left.append(next)
            }
        }
        app.suspects = left
    }

    /// A refusal of its token stays known.
    mutating func moveSuspect(_ sheet: Sheet, _ line: Int) {
        let tries = sheet.tries + Int(sheet.states[line].tries)
        decide(
            sheet, line,
            as: .later(sheet.roomTier, tries: tries, status: nil, reason: sheet.reason ?? "suspects_wait"))
    }

    /// Its app waits for APNs, and something waits behind it. With one app alone there is nobody to make room for,
    /// and its jobs are soonest pushed from where they are.
    func holdsUpOthers(_ sheet: Sheet) -> Bool {
        guard isShared, sheet.app.isSilent(at: moment.now), !sheet.lane.isLeaving else { return false }
        return hasSheetsBehind(sheet)
    }

    private func hasSheetsBehind(_ sheet: Sheet) -> Bool {
        handRoom.isFull(for: sheet.topic) || !sheet.lane.tracks[sheet.topic.rawValue].ahead.isEmpty
    }

    /// It is not ahead of what may be begun, and waits for no earlier owner.
    private func isBegun(_ sheet: Sheet) -> Bool {
        sheet.lane.mayPush && !sheet.lane.isHeld(sheet)
            && sheet.offset < sheet.lane.tracks[sheet.topic.rawValue].grantedBelow
    }
}

extension Sheet {
    /// Where it makes room: what comes from a tier already waits longer, so that a backlog is not written anew
    /// every few seconds.
    var roomTier: LaterTier {
        switch topic {
        case .urgent, .usual: .seconds5
        case .later5s, .later2m: .minutes2
        }
    }
}
