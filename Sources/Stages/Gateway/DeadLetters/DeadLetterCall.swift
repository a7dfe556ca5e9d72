/// A call about dead letters.
enum DeadLetterCall: Sendable {
    /// Sums the selected dead letters up by reason.
    case summarize(DeadLetterQuery)
    /// Lists the selected dead letters.
    case list(DeadLetterQuery)
    /// Shows the only selected dead letter.
    case show(DeadLetterQuery)
    /// Sends dead letters again. The body selects them.
    case redrive
    /// Settles dead letters without sending them again. The body selects them.
    case discard
}
