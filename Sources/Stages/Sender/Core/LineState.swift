/// The step of one job of a sheet. A job below `answered` is not decided.
enum LineStep: UInt8, Sendable {
    /// The line waits for its turn.
    case queued
    /// Its intent is being written.
    case intending
    /// Another push to the same activity is under way.
    case parked
    /// The line waits for a time.
    case waiting
    case inFlight
    /// The request has passed its deadline, and the final answer is still to come.
    case late
    /// The line is decided, and its outcome is not written yet.
    case answered
    /// Its record is being written.
    case writing
    case done
}

/// A job's step and the facts that belong to it.
struct LineState: Sendable {
    var step = LineStep.queued
    var hasPermit = false
    /// Whether `receipts` have the intent of this start, so that it may leave.
    var hasIntent = false
    /// Whether other pushes to the same subject wait for this one.
    var holdsSubject = false
    /// Whether it comes through `AppFlow.again` instead of its sheet's order.
    var isAgain = false
    /// Whether it uses the suspect connections.
    var isSuspect = false
    /// Whether its push probes for the app whether a breaker may close.
    var isProbe = false
    /// Number of further tries in this process, and number of pushes that count as tries.
    var repeats: UInt8 = 0
    var tries: UInt8 = 0
}
