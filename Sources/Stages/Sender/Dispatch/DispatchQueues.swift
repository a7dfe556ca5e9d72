internal import Lifecycle

/// The queues of all apps, and the lines that wait for a time. The apps take turns, so that no app waits for
/// the backlog of another.
struct DispatchQueues {
    private var byName: [AppEnvironment: AppQueues] = [:]
    /// All apps in the order of their first sheets.
    private(set) var apps: [AppQueues] = []
    private var currentApp = 0
    private var backingOff = DueHeap<QueuedLine>()

    /// An app whose last work is younger than this still counts as busy.
    private static let lastUseMilliseconds = 60_000

    var earliestRetry: Instant? { backingOff.earliest }

    /// Returns the queues of an app, which exist from its first sheet on.
    mutating func app(_ name: AppEnvironment) -> AppQueues {
        if let known = byName[name] { return known }
        let app = AppQueues(name, number: UInt64(apps.count) + 1)
        byName[name] = app
        apps.append(app)
        return app
    }

    /// Returns the app whose turn it is.
    mutating func nextApp() -> AppQueues {
        currentApp = (currentApp + 1) % apps.count
        return apps[currentApp]
    }

    /// Whether at most one app has work, or had work lately.
    func isOneAppAlone(at now: Instant) -> Bool {
        let busy = apps.count { app in
            app.permits > 0 || app.hasWork
                || now.milliseconds(since: app.lastUsed) < Self.lastUseMilliseconds
        }
        return busy < 2
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
