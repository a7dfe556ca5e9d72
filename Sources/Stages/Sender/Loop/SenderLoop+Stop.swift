internal import APNs
internal import Kafka
internal import Lifecycle
internal import Telemetry

// The stop of a loop: the lanes are given back in order, then everything is closed.
extension SenderLoop {
    /// Longest wait for the ends of pushes in flight before the lanes are given back.
    static let drainMilliseconds = 10_000
    /// Longest wait for the last writes.
    private static let flushMilliseconds = 1_000

    /// Gives the lanes back in order, then leaves the group and closes the connections. Calls `done` at the end, on the
    /// thread of the loop.
    func stop(by deadline: Instant, _ done: @escaping () -> Void) {
        whenStopped = done
        stopBy = deadline
        guard !hasEnded else {
            whenStopped = nil
            return done()
        }
        if plan.laneCount == 0 {
            finish()
        } else {
            plan.revoked(
                by: min(deadline, loop.now.advanced(byMilliseconds: Self.drainMilliseconds)), at: time)
            requestStep()
        }
    }

    var isStopping: Bool { stopBy != nil }

    /// Ends the loop after an error that it cannot continue after. The process then ends.
    func end(with error: any Error) {
        hasEnded = true
        context.fail(with: error)
        whenStopped?()
        whenStopped = nil
    }

    /// Closes everything after the lanes were given back.
    func finish() {
        guard !hasEnded, let done = whenStopped else { return }
        whenStopped = nil
        hasEnded = true
        timer?.cancel()
        for signal in wakeups?.all ?? [] { signal.deregister(from: loop) }
        batch.clear()
        writer.flush(withinMilliseconds: Self.flushMilliseconds)
        if !consumer.close() {
            log.warning("the sender could not leave the group in time; the group notices after one session")
        }
        receipts.close()
        superseded.close()
        receiver.sender = nil
        shared.setReadinessProblems(["stopped"], ofLoop: number)
        lastTemplate = nil
        client?.stop(by: stopBy) { done() }
        client = nil
    }
}
