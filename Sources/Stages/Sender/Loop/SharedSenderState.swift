internal import APNs
internal import Lifecycle
internal import Telemetry

/// The state that the loops of a sender share: the reasons why it is not ready, and its clock. All threads may use it.
final class SharedSenderState: Sendable {
    private let problemsOfLoops = TracedLock([Int: [String]]())
    private let clock = TracedLock(SenderClock(now: .now()))

    /// The reasons why pushes do not flow, of all loops in the order of their numbers.
    var readinessProblems: [String] {
        problemsOfLoops.withLock { problems in problems.keys.sorted().flatMap { problems[$0] ?? [] } }
    }

    /// Replaces the problems of a loop.
    func setReadinessProblems(_ problems: [String], ofLoop loop: Int) {
        problemsOfLoops.withLock { $0[loop] = problems }
    }

    // MARK: Clock

    /// Notes the stamp of a record that the cluster has just stored, in milliseconds since 1970.
    func noteStored(stamp: Int64, at now: Instant) {
        let machineTime = WallTime.now().milliseconds
        clock.withLock { clock in
            clock.noteMachineTime(machineTime, at: now)
            clock.noteStored(stamp: stamp, at: now)
        }
    }

    /// Notes the stamp of a record that was read, in milliseconds since 1970. The cluster stored it some time ago.
    func noteRead(stamp: Int64, at now: Instant) { clock.withLock { $0.noteRead(stamp: stamp, at: now) } }

    /// Returns the clocks for the dates of provider tokens: the trusted one, and others to try if APNs refuses its
    /// date. Before a record is stored, the cluster's and this machine's clock may differ, and only APNs can show which
    /// one is wrong.
    func providerClocks(at now: Instant) -> ProviderClocks {
        let machineTime = WallTime.now()
        return clock.withLock { clock in
            let time = clock.estimatedTime(machineTime: machineTime.milliseconds, at: now)
            return ProviderClocks(
                trusted: WallTime(milliseconds: time),
                others: WallTime(milliseconds: clock.lowerBound(at: now) ?? time), machineTime)
        }
    }

    /// Returns the current time, and observes this machine's clock.
    func time(at now: Instant) -> CurrentTime {
        let machineTime = WallTime.now().milliseconds
        return clock.withLock { clock in
            clock.noteMachineTime(machineTime, at: now)
            return CurrentTime(
                now: now, unixMilliseconds: clock.estimatedTime(machineTime: machineTime, at: now),
                passed: clock.latestPassedTime(machineTime: machineTime, at: now))
        }
    }
}
