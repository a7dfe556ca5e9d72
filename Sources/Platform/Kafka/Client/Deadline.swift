internal import Lifecycle

/// A limit on the steady clock for calls that wait.
struct Deadline {
    private let end: Instant

    init(milliseconds: Int) { end = Instant.now().advanced(byMilliseconds: milliseconds) }

    var millisecondsLeft: Int { max(0, end.milliseconds(since: .now())) }

    /// The remaining time for the library's calls, whose limits are `int`. Never the value that means
    /// "forever".
    var libraryTimeoutMilliseconds: Int32 { Int32(clamping: millisecondsLeft) }
}
