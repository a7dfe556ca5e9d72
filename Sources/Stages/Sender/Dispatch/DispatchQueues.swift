internal import Lifecycle

/// The queues of all apps, and the lines that wait for a time.
///
/// The order in which waiting pushes leave is decided in four places:
/// 1. apps: they take turns of a limited number of lines (`nextApp`), so that no app waits for the backlog of another;
/// 2. in the turn of an app: requeued lines, then lines that wait for connections, then sheets
///    (`DeliveryPlan+Dispatch`);
/// 3. classes of sheets: urgent ones first, with a share for the normal ones (`SheetQueues.next`);
/// 4. lanes: they take turns of a few sheets, and sheets of one lane keep their order (`LaneRotation`).
struct DispatchQueues {
    private var byName: [AppEnvironment: AppQueues] = [:]
    /// All apps in the order of their first sheets.
    private(set) var apps: [AppQueues] = []
    /// Index of the app that had the last turn.
    private var currentApp = 0
    /// Lines that wait for the time of their next try.
    private var backingOff = DueHeap<QueuedLine>()

    /// An app that had a turn within this time still counts as busy.
    private static let lastUseMilliseconds = 60_000

    /// The earliest time at which a line is tried again; `distantFuture` if no line waits for one.
    var nextDue: Instant { backingOff.earliest ?? .distantFuture }

    /// Returns the state of an app, and makes it for the first sheet of the app.
    mutating func app(_ name: AppEnvironment) -> AppQueues {
        if let existing = byName[name] { return existing }
        let app = AppQueues(name, number: UInt64(apps.count) + 1)
        byName[name] = app
        apps.append(app)
        return app
    }

    /// Returns the app that has the next turn. There must be an app.
    mutating func nextApp() -> AppQueues {
        currentApp = (currentApp + 1) % apps.count
        return apps[currentApp]
    }

    /// Whether at most one app is busy: it has work, holds permits, or had a turn lately.
    func isOneAppAlone(at now: Instant) -> Bool {
        let busyAppCount = apps.count { app in
            let hadWorkLately = now.milliseconds(since: app.lastUsed) < Self.lastUseMilliseconds
            return app.permits > 0 || app.hasWork || hadWorkLately
        }
        return busyAppCount < 2
    }

    /// Lets a line wait for the time of its next try.
    mutating func backOff(_ sheet: Sheet, line: Int, until due: Instant) {
        backingOff.add(QueuedLine(sheet: sheet, line: line), at: due)
    }

    /// Returns the next line whose wait has ended.
    mutating func takeDueRetry(at now: Instant) -> QueuedLine? {
        while let due = backingOff.takeDue(at: now) {
            if due.sheet.isInHand, due.sheet.states[due.line].stage == .backingOff { return due }
        }
        return nil
    }
}
