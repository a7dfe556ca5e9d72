internal import Jobs
internal import Lifecycle

/// The choice of the sheets that are due in a tier's partition. The first sheet that is not due is deferred: the
/// partition is paused at it, and is read again from it when it is due. So sheets that wait take no memory.
///
/// All sheets of a tier wait for the same time, so the sheets after a deferred one are due later. If two owners of the
/// lane had different clocks, a sheet waits longer by the difference.
struct TierReading {
    /// The shortest pause: each pause costs a new fetch of the records after the sheet.
    static let pauseMillisecondsMin = 1_000

    /// A sheet that is not due.
    struct DeferredSheet: Sendable, Hashable {
        let dueAt: Instant
        /// Acceptance time of its send, in milliseconds since 1970.
        let acceptedAt: Int64
    }

    /// The tier's wait.
    private let waitMilliseconds: Int64
    /// The sheet at which reading stopped; nil while sheets are taken.
    private(set) var deferredSheet: DeferredSheet?
    /// Lower bound of the time by which the clock of an earlier owner was ahead of ours.
    private var clockAheadMilliseconds: Int64 = 0

    init(_ tier: LaterTier) { waitMilliseconds = Int64(tier.waitMilliseconds) }

    /// Returns whether a sheet is taken because it is due. Otherwise it is deferred, and no sheet is taken until
    /// `resume`.
    mutating func takeOrDefer(_ sheet: SheetRecord, at time: CurrentTime) -> Bool {
        guard deferredSheet == nil else { return false }
        let wait = millisecondsLeft(until: sheet.origin?.dueAt ?? 0, at: time.unixMilliseconds)
        if wait <= 0 { return true }
        let pause = max(Int(wait), Self.pauseMillisecondsMin)
        deferredSheet = DeferredSheet(
            dueAt: time.now.advanced(byMilliseconds: pause), acceptedAt: sheet.head.acceptedAt)
        return false
    }

    /// Notes that the partition is read again from the deferred sheet.
    mutating func resume() { deferredSheet = nil }

    /// Returns the time until a sheet is due. A time longer than the tier's wait comes from a clock that is
    /// ahead of ours. Sheets with times from that clock are due in their own order, the first of them after
    /// the tier's wait.
    ///
    /// - Parameter dueAt: milliseconds since 1970.
    private mutating func millisecondsLeft(until dueAt: Int64, at unixMilliseconds: Int64) -> Int64 {
        let wait = dueAt - unixMilliseconds
        if wait <= waitMilliseconds { return wait }
        clockAheadMilliseconds = max(clockAheadMilliseconds, wait - waitMilliseconds)
        return wait - clockAheadMilliseconds
    }
}
