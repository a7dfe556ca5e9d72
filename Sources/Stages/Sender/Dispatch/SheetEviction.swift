internal import Containers
internal import Lifecycle

/// The rule by which sheets of a silent app make room for other apps. `AppSilence` decides which silent apps block
/// others.
///
/// Sheets are begun only within a window above the committed offset, and the memory of sheets is limited. If APNs
/// answers none of an app's pushes, the app's sheets fill both and block every other app in the same lanes. So these
/// sheets move to a tier as soon as a sheet behind them cannot begin. Such a move does not count as a try.
struct SheetEviction {
    /// Interval of the checks.
    private static let checkMilliseconds = 250
    /// Silence after which the sender checks whether the app's first connection is still being opened.
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

    /// Decides which apps block others (`AppSilence.blocksOthers`).
    ///
    /// - Parameter isConnecting: returns whether an app's first connection is still being opened.
    func updateBlockingApps(_ apps: [AppQueues], at now: Instant, isConnecting: (AppQueues) -> Bool) {
        var all = AppSilence.AllApps()
        for app in apps {
            if app.silence.durationMilliseconds(at: now) >= Self.connectingMilliseconds {
                app.silence.noteConnecting(isConnecting(app), at: now)
            }
            all.add(app.silence, hasSheets: app.sheetCount > 0, at: now)
        }
        for app in apps { app.silence.updateBlocksOthers(among: all, at: now) }
    }

    /// Returns whether sheets of any app may have to move. With one app alone no other app needs the room, and the jobs
    /// leave soonest from where they are.
    func mustMoveSheets(of apps: [AppQueues]) -> Bool {
        hasSeveralApps && apps.contains(where: \.silence.blocksOthers)
    }

    /// Returns whether a sheet has to move: its app blocks others, it holds up other sheets, and its lane is kept.
    func mustMakeRoom(_ sheet: Sheet, memory: SheetMemory) -> Bool {
        guard hasSeveralApps, sheet.app.silence.blocksOthers, !sheet.lane.isLeaving else { return false }
        return holdsUpOthers(sheet, memory: memory)
    }

    /// Returns whether other sheets may wait until this one is finished: the memory is full, or sheets wait for the
    /// window.
    func holdsUpOthers(_ sheet: Sheet, memory: SheetMemory) -> Bool {
        memory.isFull(for: sheet.topic) || !sheet.lane[sheet.topic].sheetsAwaitingWindow.isEmpty
    }

    /// Returns the tier to which a sheet moves to make room. If APNs is silent for very long, sheets that come from a
    /// tier go to the long one, so that a backlog is not written again every few seconds.
    func tier(for sheet: Sheet, at now: Instant) -> LaterTier {
        let isVeryLong = sheet.app.silence.durationMilliseconds(at: now) >= AppSilence.veryLongMilliseconds
        let comesFromTier = sheet.topic.tier != nil
        return comesFromTier && isVeryLong ? .minutes2 : .seconds5
    }
}
