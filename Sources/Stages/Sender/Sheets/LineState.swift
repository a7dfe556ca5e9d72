internal import APNs

/// The state of a line: its stage, what it holds, and how often it was pushed.
struct LineState: Sendable {
    var stage = LineStage.unsent
    /// The permit and the intent that the line holds.
    var reservation = LineReservation.nothing
    /// Whether the line holds its subject, so that no other push to it leaves.
    var holdsSubject = false
    /// The connections that it uses, or used last.
    var connections = PushConnections.usual
    /// Whether APNs has never accepted its token, according to the sheet.
    var isUnproven = false
    /// Whether its push is the probe of the app's open breaker (`Breaker`).
    var isProbe = false
    /// Number of pauses after which it was pushed again in this process.
    var pausesHere: UInt8 = 0
    /// Number of its pushes in this process that count as tries: those that may have arrived.
    var tries: UInt8 = 0

    /// Whether the line can leave in a run of lines, without single checks (`DeliveryPlan+Runs`).
    var isOrdinary: Bool { reservation == .nothing && !holdsSubject && connections == .usual && !isProbe }

    /// Whether the line is a waiting start: its intent is stored or being stored, and it has not left. It needs room on
    /// its connections.
    var isWaitingStart: Bool {
        switch stage {
        case .storingIntent: true
        case .unsent, .requeued, .blocked, .backingOff: reservation == .permitAndIntent
        case .pushing, .decided, .recording, .done: false
        }
    }
}

/// The rights to push that a line has.
enum LineReservation: Sendable, Hashable {
    case nothing
    case permit
    /// The line is a start with a permit, and its intent is stored in `receipts`, so that it may leave.
    case permitAndIntent
}
