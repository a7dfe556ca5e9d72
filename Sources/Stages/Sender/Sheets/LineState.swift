/// A line's stage and the facts that belong to it.
struct LineState: Sendable {
    var stage = LineStage.unsent
    var reserved = LineReservation.nothing
    /// Whether other pushes to the same subject wait for this line.
    var holdsSubject = false
    /// Whether it uses the suspect connections.
    var isSuspect = false
    /// Whether its push probes for the app whether a breaker may close.
    var isProbe = false
    /// Number of further tries in this process.
    var repeats: UInt8 = 0
    /// Number of pushes that count as tries.
    var tries: UInt8 = 0

    /// Whether the line can leave in a run, without single checks.
    var isOrdinary: Bool { reserved == .nothing && !holdsSubject && !isSuspect && !isProbe }

    /// Whether the line is a start that needs room on the connections because its intent is stored, or is
    /// being stored, and it has not left.
    var awaitsConnection: Bool {
        switch stage {
        case .storingIntent: true
        case .unsent, .requeued, .blocked, .backingOff: reserved == .permitAndIntent
        case .pushing, .decided, .recording, .done: false
        }
    }
}

/// The rights that a line has for a push.
enum LineReservation: Sendable, Hashable {
    case nothing
    case permit
    /// Beside the permit, `receipts` have the intent of this start, so that it may leave.
    case permitAndIntent
}
