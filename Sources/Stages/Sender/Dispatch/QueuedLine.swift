/// A line that waits outside the order of its sheet: for another turn, the suspect connections, its subject, or a time.
struct QueuedLine {
    let sheet: Sheet
    let line: Int

    /// Whether the line still waits for a turn.
    var isQueued: Bool { sheet.isInHand && sheet.states[line].stage.isQueued }
}
