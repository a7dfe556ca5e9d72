/// Where one job of a sheet stands. Below `answered` it is not decided.
enum LineStep: UInt8, Sendable {
    /// Waits for its turn.
    case queued
    /// Its intent is being written.
    case intending
    /// Another push to the same activity is under way.
    case parked
    /// Waits for a time.
    case waiting
    case inFlight
    /// The deadline has passed, and the last word is still to come.
    case late
    /// Decided, and not written yet.
    case answered
    /// On its way into a topic.
    case writing
    case done
}

/// A job's step and what goes with it.
struct LineState: Sendable {
    var step = LineStep.queued
    var hasPermit = false
    /// A start that may leave, as `receipts` say so.
    var hasIntent = false
    /// Other pushes about the same wait for this one.
    var holdsSubject = false
    /// It comes by `AppFlow.again`, not in its sheet's order.
    var isAgain = false
    /// Over the connections for tokens that are not to be trusted.
    var isSuspect = false
    /// It tries for its app whether a breaker may close.
    var isProbe = false
    /// Times that it was tried again here, and those that count.
    var repeats: UInt8 = 0
    var tries: UInt8 = 0
}
