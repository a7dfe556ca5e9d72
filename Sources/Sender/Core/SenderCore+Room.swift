internal import Lifecycle
internal import LiveActivity

// An app that waits for APNs makes room for the others.
//
// Sheets are begun only within a window above the committed offset, and only so many bytes are in hand. Where
// an app's pushes do not get on, its sheets would hold both, and with them every other app in the same lanes.
// So they go to a later tier, uncounted, as soon as something is read behind them that may not begin. While APNs answers
// no app, it is the network: then sheets stay for longer, as all apps go on when it is back.
extension SenderCore {
    private static let roomMilliseconds = 250
    /// After this time it is asked whether an app has a connection at all.
    private static let connectingMilliseconds = 500

    mutating func makeRoom(by way: (Sheet, _ isSuspect: Bool) -> PushWay) {
        guard moment.now >= nextRoom else { return }
        nextRoom = moment.now.advanced(byMilliseconds: Self.roomMilliseconds)
        for app in rotation where app.areSuspectsStuck(at: moment.now) { moveSuspects(of: app) }
        judgeSilence(by: way)
        guard isShared, rotation.contains(where: \.silence.isInTheWay) else { return }
        for sheet in slots.compactMap({ $0 })
        where sheet.undecided > 0 && isBegun(sheet) && holdsUpOthers(sheet) {
            let tier = roomTier(of: sheet)
            decideUnsent(sheet, as: .later(tier, tries: sheet.tries, status: nil, reason: "apns_silent"))
        }
    }

    private mutating func judgeSilence(by way: (Sheet, _ isSuspect: Bool) -> PushWay) {
        var others = AppSilence.Others()
        for app in rotation {
            if app.silence.milliseconds(at: moment.now) >= Self.connectingMilliseconds {
                app.silence.connects(isConnecting(app, by: way), at: moment.now)
            }
            others.add(app.silence, hasSheets: app.sheets > 0, at: moment.now)
        }
        for app in rotation { app.silence.judge(beside: others, at: moment.now) }
    }

    private func isConnecting(_ app: AppFlow, by way: (Sheet, _ isSuspect: Bool) -> PushWay) -> Bool {
        guard let sheet = slots.first(where: { $0?.app === app && $0?.hasWay == true }) ?? nil else {
            return false
        }
        if case .connecting = way(sheet, false) { return true }
        return false
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
        let reason = sheet.reason ?? "suspects_wait"
        decide(sheet, line, as: .later(roomTier(of: sheet), tries: tries, status: nil, reason: reason))
    }

    /// Its app waits for APNs, and something waits behind it. With one app alone there is nobody to make room for,
    /// and its jobs are soonest pushed from where they are.
    func holdsUpOthers(_ sheet: Sheet) -> Bool {
        guard isShared, sheet.app.silence.isInTheWay, !sheet.lane.isLeaving else { return false }
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

extension SenderCore {
    /// The tier in which a sheet makes room. If APNs is silent for very long, sheets from a tier wait longer, so that a
    /// backlog is not written anew every few seconds.
    func roomTier(of sheet: Sheet) -> LaterTier {
        let isVeryLong = sheet.app.silence.milliseconds(at: moment.now) >= AppSilence.veryLongMilliseconds
        return sheet.topic.tier != nil && isVeryLong ? .minutes2 : .seconds5
    }
}
