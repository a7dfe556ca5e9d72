internal import Lifecycle
internal import LiveActivity

// The sheets of an app that waits for APNs make room for other apps.
//
// Sheets are begun only within a window above the committed offset, and the bytes in hand are limited. If an
// app's pushes make no progress, its sheets fill both and block every other app in the same lanes. So they move
// to a tier, which does not count as a try, as soon as a sheet behind them cannot begin. If APNs answers no app,
// the network is the cause. Then sheets stay longer, because all apps continue when the network is back.
extension SenderCore {
    private static let roomMilliseconds = 250
    /// After this time of silence the sender checks whether the app has a connection at all.
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

    /// Moves lines to a tier if the suspect connections take nothing and other sheets wait behind the lines.
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

    /// Moves a line that waits for the suspect connections to a tier. The reason stays, so that an earlier
    /// refusal of the token is still known.
    mutating func moveSuspect(_ sheet: Sheet, _ line: Int) {
        let tries = sheet.tries + Int(sheet.states[line].tries)
        let reason = sheet.reason ?? "suspects_wait"
        decide(sheet, line, as: .later(roomTier(of: sheet), tries: tries, status: nil, reason: reason))
    }

    /// Whether the sheet's app waits for APNs while other sheets wait behind it. With one app alone no other
    /// app needs the room, and its jobs leave soonest from where they are.
    func holdsUpOthers(_ sheet: Sheet) -> Bool {
        guard isShared, sheet.app.silence.isInTheWay, !sheet.lane.isLeaving else { return false }
        return hasSheetsBehind(sheet)
    }

    private func hasSheetsBehind(_ sheet: Sheet) -> Bool {
        handRoom.isFull(for: sheet.topic) || !sheet.lane.tracks[sheet.topic.rawValue].ahead.isEmpty
    }

    /// Whether the sheet lies within the window and does not wait for an earlier owner.
    private func isBegun(_ sheet: Sheet) -> Bool {
        sheet.lane.mayPush && !sheet.lane.isHeld(sheet)
            && sheet.offset < sheet.lane.tracks[sheet.topic.rawValue].grantedBelow
    }
}

extension SenderCore {
    /// Returns the tier to which a sheet moves to make room. If APNs is silent for very long, sheets that
    /// come from a tier wait longer, so that a backlog is not rewritten every few seconds.
    func roomTier(of sheet: Sheet) -> LaterTier {
        let isVeryLong = sheet.app.silence.milliseconds(at: moment.now) >= AppSilence.veryLongMilliseconds
        return sheet.topic.tier != nil && isVeryLong ? .minutes2 : .seconds5
    }
}
