internal import APNs
internal import Containers
internal import Lifecycle

// The eviction: sheets and lines of an app that waits for APNs move to a tier, and make room for other apps.
// `SheetEviction` has the rule.
extension DeliveryPlan {
    /// Moves sheets of silent apps, and lines that wait for full connections, if others wait behind them.
    mutating func evict(by availability: AvailabilityCheck) {
        let isDue = eviction.takeDueCheck(at: time.now)
        guard isDue else { return }
        for app in queues.apps {
            for connections in PushConnections.allCases
            where app.isQueueStuck(of: connections, at: time.now) {
                moveStuckLines(of: app, waitingFor: connections)
            }
        }
        let mustMove = eviction.updateBlockingApps(queues.apps, at: time.now) {
            isConnecting($0, by: availability)
        }
        guard mustMove else { return }
        for sheet in sheets.all where mustLeave(sheet) {
            let tier = eviction.tier(for: sheet, at: time.now)
            moveWaiting(sheet, to: tier, reason: "apns_silent")
        }
    }

    /// Returns whether the app's first connection is still being opened.
    private func isConnecting(_ app: AppQueues, by availability: AvailabilityCheck) -> Bool {
        guard let sheet = sheets.first(where: { $0.app === app && $0.isSendable }) else { return false }
        if case .connecting = availability(sheet, .usual) { return true }
        return false
    }

    /// Returns whether a sheet has begun in a lane that is kept, has lines to move, and has to make room.
    private func mustLeave(_ sheet: Sheet) -> Bool {
        sheet.undecidedLines > 0 && sheet.lane.mayPush(sheet)
            && eviction.mustMakeRoom(sheet, memory: sheets.memory)
    }

    /// Moves the lines that wait for connections to a tier, if other sheets wait behind them.
    private mutating func moveStuckLines(of app: AppQueues, waitingFor connections: PushConnections) {
        var waiting = app.takeAllLines(waitingFor: connections)
        while let next = waiting.first {
            waiting.removeFirst()
            guard next.isQueued else { continue }
            if eviction.isSheetBehind(next.sheet, memory: sheets.memory), !next.sheet.lane.isLeaving {
                moveLineWithoutRoom(next.sheet, line: next.line)
            } else {
                app.putBack(next, waitingFor: connections)
            }
        }
    }

    /// Moves a line to a tier, because it finds no room on the connections for tokens like its own. The move does not
    /// count as a try. The reason stays, so that an earlier refusal of the token is still known.
    mutating func moveLineWithoutRoom(_ sheet: Sheet, line: Int) {
        let reason = sheet.reason ?? "suspects_wait"
        let tier = eviction.tier(for: sheet, at: time.now)
        decide(sheet, line: line, as: .move(of: line, on: sheet, to: tier, reason: reason))
    }
}
