internal import APNs
internal import Lifecycle

// The eviction: lines and sheets that hold up others move to a tier. Lines hold up others if their connections are
// full, and sheets do if APNs answers none of their app's pushes. `SheetEviction` has the rule.
extension DeliveryPlan {
    /// Moves the lines and sheets that hold up others, at the interval of `SheetEviction`.
    mutating func evict(by availability: AvailabilityCheck) {
        let isDue = eviction.takeDueCheck(at: time.now)
        guard isDue else { return }
        endLongWaits()
        evictSheetsOfSilentApps(by: availability)
    }

    // MARK: Lines that wait for full connections

    /// Moves lines to a tier that have waited as long as they may, and whose sheets hold up others.
    private mutating func endLongWaits() {
        for app in queues.apps {
            for connections in [PushConnections.unproven, .suspect] {
                let lines = app.waitingLines[connections].takeLinesAtLimit(at: time.now) { line in
                    line.isQueued && !line.sheet.lane.isLeaving
                        && eviction.holdsUpOthers(line.sheet, memory: sheets.memory)
                }
                for line in lines { moveLineWithoutRoom(line.sheet, line: line.line) }
            }
        }
    }

    /// Moves a line to a tier, because its connections are full. The move does not count as a try. An earlier reason
    /// stays, because it tells the next attempt that APNs has refused the token (`Sheet.wasRefusedBefore`).
    mutating func moveLineWithoutRoom(_ sheet: Sheet, line: Int) {
        let reason = sheet.reason ?? "connections_full"
        let tier = eviction.tier(for: sheet, at: time.now)
        decide(sheet, line: line, as: .move(of: line, on: sheet, to: tier, reason: reason))
    }

    // MARK: Sheets of silent apps

    private mutating func evictSheetsOfSilentApps(by availability: AvailabilityCheck) {
        eviction.updateBlockingApps(
            queues.apps, at: time.now, isConnecting: { isConnecting($0, by: availability) })
        guard eviction.mustMoveSheets(of: queues.apps) else { return }
        for sheet in sheets.all where mustEvict(sheet) {
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

    /// Returns whether a sheet moves: it has begun, has undecided lines, and has to make room.
    private func mustEvict(_ sheet: Sheet) -> Bool {
        sheet.undecidedLines > 0 && sheet.lane.mayPush(sheet)
            && eviction.mustMakeRoom(sheet, memory: sheets.memory)
    }
}
