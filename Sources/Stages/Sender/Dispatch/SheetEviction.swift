internal import Containers
internal import Lifecycle

/// The rule by which sheets of a silent app make room for other apps (`AppSilence`).
///
/// Sheets are begun only within a window above the committed offset, and the memory of sheets is limited. If an
/// app's pushes make no progress, its sheets fill both and block every other app in the same lanes. So they move
/// to a tier as soon as a sheet behind them cannot begin. Such a move does not count as a try. If APNs answers no app,
/// the network is the cause. Then sheets stay longer, because all apps continue when the network is back.
struct SheetEviction {
    /// Interval of the checks.
    private static let checkMilliseconds = 250
    /// Silence after which the sender checks whether the app has a connection at all.
    private static let connectingMilliseconds = 500

    /// Whether there may be sheets of several apps, or of several environments of one app, read or unread.
    var hasSeveralApps = true
    private var nextCheck = Instant(nanoseconds: 0)

    /// Returns whether the apps are checked now. If so, the next check is due after the interval.
    mutating func takeDueCheck(at now: Instant) -> Bool {
        guard now >= nextCheck else { return false }
        nextCheck = now.advanced(byMilliseconds: Self.checkMilliseconds)
        return true
    }

    /// Decides which apps block others. Returns whether sheets have to move.
    ///
    /// - Parameter isConnecting: returns whether an app's first connection is still being opened.
    func updateBlockingApps(_ apps: [AppQueues], at now: Instant, isConnecting: (AppQueues) -> Bool) -> Bool {
        var all = AppSilence.AllApps()
        for app in apps {
            if app.silence.durationMilliseconds(at: now) >= Self.connectingMilliseconds {
                app.silence.noteConnecting(isConnecting(app), at: now)
            }
            all.add(app.silence, hasSheets: app.sheetCount > 0, at: now)
        }
        for app in apps { app.silence.updateBlocksOthers(among: all, at: now) }
        return hasSeveralApps && apps.contains(where: \.silence.blocksOthers)
    }

    /// Whether the sheet's app waits for APNs while other sheets wait behind it. With one app alone no other
    /// app needs the room, and its jobs leave soonest from where they are.
    func mustMakeRoom(_ sheet: Sheet, memory: SheetMemory) -> Bool {
        guard hasSeveralApps, sheet.app.silence.blocksOthers, !sheet.lane.isLeaving else { return false }
        return isSheetBehind(sheet, memory: memory)
    }

    /// Whether another sheet waits until this one is finished.
    func isSheetBehind(_ sheet: Sheet, memory: SheetMemory) -> Bool {
        memory.isFull(for: sheet.topic) || !sheet.lane[sheet.topic].sheetsAwaitingWindow.isEmpty
    }

    /// Returns the tier to which a sheet moves to make room. If APNs is silent for very long, sheets that
    /// come from a tier wait longer, so that a backlog is not rewritten every few seconds.
    func tier(for sheet: Sheet, at now: Instant) -> LaterTier {
        let isVeryLong = sheet.app.silence.durationMilliseconds(at: now) >= AppSilence.veryLongMilliseconds
        let comesFromTier = sheet.topic.tier != nil
        return comesFromTier && isVeryLong ? .minutes2 : .seconds5
    }
}
