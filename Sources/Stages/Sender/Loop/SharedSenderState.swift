internal import APNs
internal import Lifecycle
internal import Telemetry

/// State that the loops share with the rest of the process.
final class SharedSenderState: Sendable {
    private let state = TracedLock([Int: [String]]())
    private let clock = TracedLock(SenderClock(now: .now()))

    var obstacles: [String] { state.withLock { all in all.keys.sorted().flatMap { all[$0] ?? [] } } }
    func set(_ obstacles: [String], of loop: Int) { state.withLock { $0[loop] = obstacles } }

    func stored(_ stamp: Int64, at now: Instant) {
        let machine = WallTime.now().milliseconds
        clock.withLock { clock in
            clock.tick(machine: machine, at: now)
            clock.stored(stamp, at: now)
        }
    }
    func read(_ stamp: Int64, at now: Instant) { clock.withLock { $0.read(stamp, at: now) } }

    /// Returns the clocks for provider tokens. Before a record is stored, the two clocks may differ, and only
    /// APNs can show which one is wrong.
    func providerClocks(at now: Instant) -> ProviderClocks {
        let machine = WallTime.now()
        return clock.withLock { clock in
            let time = clock.time(by: machine.milliseconds, at: now)
            return ProviderClocks(
                trusted: WallTime(milliseconds: time),
                others: WallTime(milliseconds: clock.least(at: now) ?? time), machine)
        }
    }

    func time(at now: Instant) -> CurrentTime {
        let machine = WallTime.now().milliseconds
        return clock.withLock { clock in
            clock.tick(machine: machine, at: now)
            return CurrentTime(
                now: now, unixMilliseconds: clock.time(by: machine, at: now),
                passed: clock.passed(by: machine, at: now))
        }
    }
}

/// A failure that ends a sender.
struct SenderFailure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
