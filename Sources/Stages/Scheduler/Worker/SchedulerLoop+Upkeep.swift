internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import StageSupport
internal import Store
internal import Telemetry

extension SchedulerLoop {
    /// The interval between two confirmations that the view of a quiet partition is up to date.
    static let asOfMilliseconds = 600_000

    /// Does the regular work. The loop calls it once a second.
    func upkeep(_ now: Instant) throws {
        try views.retryBlocked(now, opening: member.owned.keys)
        transaction.serve()
        writer.serve()
        if writer.isRuined { throw StageFailure.client("a producer of the scheduler is unusable") }
        tellObstacles(now)
        metrics.overlay.set(Double(views.overlayRows))
        metrics.held.set(clock.isHeld(at: now) ? 1 : 0)
        metrics.blocked.set(Double(member.stuck(isBlocked: views.blockage != nil)))
        settleWindows()
        try countTimers()
        guard isSettled, now >= nextAsOf else { return }
        nextAsOf = now.advanced(byMilliseconds: Self.asOfMilliseconds)
        views.refreshAsOf()
    }

    /// Drops rows and keys from memory that are now in the view.
    private func settleWindows() {
        for (partition, part) in member.owned where part.window.freshCount > 0 || !part.unread.isEmpty {
            let overlay = views.overlays[partition]
            member.owned[partition]?.window.settle { overlay?[$0] != nil }
            member.owned[partition]?.unread.settle { overlay?[$0] != nil }
        }
    }

    private func countTimers() throws {
        var rows = 0
        for partition in member.owned.keys.sorted() {
            do throws(StoreError) {
                rows += try views[partition]?.count() ?? 0
            } catch {
                return try views.rebuild(partition, error)
            }
        }
        // Each row has a second row, its entry in due order.
        metrics.timers.set(Double(rows / 2))
    }

    private func tellObstacles(_ now: Instant) {
        var obstacles = member.obstacles
        if let blockage = views.blockage { obstacles.insert(blockage.why, at: 0) }
        if clock.isHeld(at: now) {
            obstacles.insert(
                "a clock has jumped; timers wait until the new time is confirmed", at: 0)
        }
        state.setObstacles(obstacles)
    }
}
