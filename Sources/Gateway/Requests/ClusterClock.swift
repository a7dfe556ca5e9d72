internal import Lifecycle
internal import Telemetry

/// What time it is by the cluster's clock, as the stamps of what was just stored tell it: by that time sends are
/// planned, and a gateway whose own clock is wrong must not give them a deadline that has passed. Until
/// something was stored it is this machine's own.
///
/// A stamp can only be old when it comes, so of those of the last minute or two the one that makes it latest
/// is right.
struct ClusterClock: Sendable {
    static let windowMilliseconds = 60_000
    /// What can be counted with.
    private static let stamps: ClosedRange<Int64> = 1...1 << 53

    /// The cluster's time less the steady clock, in milliseconds: the greatest of this window and of the one before.
    private var recent: Int64?
    private var older: Int64?
    private var turnedAt: Instant

    init(now: Instant) { turnedAt = now }

    /// Something was stored a moment ago.
    ///
    /// - Parameter stamp: milliseconds since 1970.
    mutating func saw(_ stamp: Int64, at now: Instant) {
        guard Self.stamps.contains(stamp) else { return }
        let age = now.milliseconds(since: turnedAt)
        if age >= Self.windowMilliseconds {
            older = age >= 2 * Self.windowMilliseconds ? nil : recent
            recent = nil
            turnedAt = now
        }
        let difference = stamp - now.nanoseconds / 1_000_000
        recent = max(recent ?? difference, difference)
    }

    /// Nil while nothing is known.
    func time(at now: Instant) -> WallTime? {
        guard let difference = [recent, older].compactMap(\.self).max() else { return nil }
        return WallTime(milliseconds: difference + now.nanoseconds / 1_000_000)
    }
}

/// The one of a gateway.
final class GatewayClock: Sendable {
    private let state = TracedLock(ClusterClock(now: .now()))
    private let own: @Sendable () -> WallTime

    /// - Parameter own: this machine's.
    init(own: @escaping @Sendable () -> WallTime = { .now() }) { self.own = own }

    func saw(_ stamp: Int64) { state.withLock { $0.saw(stamp, at: .now()) } }

    var now: WallTime { state.withLock { $0.time(at: .now()) } ?? own() }
}
