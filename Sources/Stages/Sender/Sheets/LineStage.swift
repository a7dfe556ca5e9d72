/// The stage of a line: one job of a sheet, from its arrival in this process to its stored outcome. `after` is the
/// table of transitions. README.md shows it as a diagram.
enum LineStage: Sendable, Hashable {
    /// The line waits to be dispatched in the order of its sheet.
    case unsent
    /// The line waits to be dispatched again, outside the order of its sheet.
    case requeued
    /// The intent of a start is being written.
    case storingIntent
    /// Another push to the same subject is under way.
    case blocked
    /// The line waits for the time of its next try.
    case backingOff
    case pushing(PushStage)
    /// The outcome is known and is not written yet.
    case decided
    /// The record with the outcome is being written.
    case recording
    /// The outcome is stored, or another process has the job.
    case done
}

/// The stage of a push, from its departure to its final answer.
enum PushStage: Sendable, Hashable {
    case inFlight
    /// The request has passed its deadline, and the final answer is still to come. Until then no other push may use the
    /// token.
    case overdue
}

/// An event that changes the stage of a line.
enum LineEvent: Sendable, Hashable {
    /// The line is queued outside the order of its sheet: its wait has ended, its intent is stored, or it waits for
    /// connections.
    case requeued
    /// The write of the line's intent is ordered.
    case intentOrdered
    case subjectIsBusy
    case pushLeft
    case pushIsOverdue
    /// The push has ended and is tried again later.
    case backedOff
    case decided
    case recordOrdered
    /// The record is stored, or the next owner of the lane takes over the job.
    case finished
}

extension LineStage {
    /// Returns the stage after an event; nil if the event has no effect in this stage.
    ///
    /// It is inlined, because every push needs it several times, with an event that the compiler then knows.
    @inline(__always)
    func after(_ event: LineEvent) -> LineStage? {
        switch (self, event) {
        case (.unsent, .requeued), (.storingIntent, .requeued), (.blocked, .requeued),
            (.backingOff, .requeued):
            .requeued
        case (.unsent, .intentOrdered), (.requeued, .intentOrdered): .storingIntent
        case (.unsent, .subjectIsBusy), (.requeued, .subjectIsBusy), (.backingOff, .subjectIsBusy): .blocked
        case (.unsent, .pushLeft), (.requeued, .pushLeft): .pushing(.inFlight)
        case (.pushing(.inFlight), .pushIsOverdue): .pushing(.overdue)
        case (.pushing, .backedOff): .backingOff
        case (.unsent, .decided), (.requeued, .decided), (.storingIntent, .decided), (.blocked, .decided),
            (.backingOff, .decided), (.pushing, .decided):
            .decided
        case (.decided, .recordOrdered): .recording
        case (.decided, .finished), (.recording, .finished): .done
        default: nil
        }
    }

    /// Whether the line waits to be dispatched.
    var isQueued: Bool { self == .unsent || self == .requeued }

    /// Whether the line is undecided, and no push of it is under way or about to leave.
    var isWaiting: Bool {
        switch self {
        case .unsent, .requeued, .blocked, .backingOff: true
        case .storingIntent, .pushing, .decided, .recording, .done: false
        }
    }

    /// Whether the push of the line is on its way, or leaves as soon as its intent is stored.
    var isLeavingOrInFlight: Bool {
        switch self {
        case .storingIntent, .pushing(.inFlight): true
        case .unsent, .requeued, .blocked, .backingOff, .pushing(.overdue), .decided, .recording, .done: false
        }
    }

    var isDecided: Bool {
        switch self {
        case .decided, .recording, .done: true
        case .unsent, .requeued, .storingIntent, .blocked, .backingOff, .pushing: false
        }
    }
}
