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
