/// A line that waits outside the order of its sheet: to be dispatched again, for connections, its subject, or a
/// time.
struct QueuedLine {
    let sheet: Sheet
    let line: Int

    /// Whether the line still waits to be dispatched.
    var isQueued: Bool { sheet.isInHand && sheet.states[line].stage.isQueued }
}
