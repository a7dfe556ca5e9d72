internal import APNs

/// The turn of one app in the dispatch: what the app may still do in it.
struct AppTurn {
    /// Number of new permits that the app may still take.
    var permitsLeft: Int
    /// Number of lines that may still be dispatched.
    var linesLeft = AppQueues.turnLinesMax
    /// Whether the queue for these connections is skipped in the rest of the turn, because its first line could not
    /// leave.
    var mustSkipQueue = ByConnections(repeating: false)

    /// Whether a line was dispatched.
    var hasProgress: Bool { linesLeft < AppQueues.turnLinesMax }
}

/// The result of the dispatch of one line.
enum DispatchResult {
    /// The line is no longer in its queue: it left, ended, or waits for its intent, its subject or a tier.
    case progress
    /// The line has to wait for the unproven or the suspect connections. The caller queues it. Other lines continue.
    case waitsForConnections(PushConnections)
    /// The line cannot leave now: a permit or room on the connections is missing, or a probe is under way. The caller
    /// keeps it in its queue. Lines behind it that have a permit already, or use other connections, may still leave.
    case staysInQueue
}
