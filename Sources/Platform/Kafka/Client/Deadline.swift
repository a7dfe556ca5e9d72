internal import Lifecycle

/// The end of a call that waits, on the steady clock.
struct Deadline {
    private let end: Instant

    init(milliseconds: Int) { end = Instant.now().advanced(byMilliseconds: milliseconds) }

    var millisecondsLeft: Int { max(0, end.milliseconds(since: .now())) }

    /// The remaining time for the library's calls, whose limits are `int`. It is never negative, which would
    /// mean "forever".
    var libraryTimeoutMilliseconds: Int32 { Int32(clamping: millisecondsLeft) }
}
