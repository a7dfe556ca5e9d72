/// The turn of one app in the dispatch: its limits, and how much of them is used.
struct AppTurn {
    /// Number of new permits that the app may still take.
    var permits: Int
    /// Number of lines that had their turn, up to `AppQueues.turnLinesMax`.
    var lines = 0
    /// Whether the suspect connections take no more pushes in this turn.
    var areSuspectConnectionsFull = false
}

/// The result for one line whose turn has come.
enum LineTurnResult {
    /// The line left, ended, or waits for its intent, its subject or a tier.
    case progress
    /// The line waits for the suspect connections. Other lines continue.
    case setAside
    /// Neither this line nor another line of its kind can leave now.
    case stuck
}
