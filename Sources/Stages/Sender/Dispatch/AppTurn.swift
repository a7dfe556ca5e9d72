internal import APNs

/// The turn of one app in the dispatch: its limits, and how much of them is used.
struct AppTurn {
    /// Number of new permits that the app may still take.
    var permits: Int
    /// Number of lines that were dispatched, up to `AppQueues.turnLinesMax`.
    var lines = 0
    /// Whether the lines that wait for these connections are skipped, because one of them could not leave.
    var mustSkipLinesWaiting = ByConnections(repeating: false)
}

/// The result of the dispatch of one line.
enum DispatchResult {
    /// The line is no longer in its queue: it left, ended, or waits for its intent, its subject or a tier.
    case progress
    /// The line has to wait for the unproven or the suspect connections. The caller queues it. Other lines continue.
    case waitsForConnections(PushConnections)
    /// The line cannot leave now: a permit or room on the connections is missing, or a probe is under way. It stays in
    /// its queue. A line that has a permit already, or uses other connections, may still leave.
    case stuck
}
