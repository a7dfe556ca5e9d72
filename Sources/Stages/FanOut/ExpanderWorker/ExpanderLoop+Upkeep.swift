internal import Kafka
internal import Lifecycle
internal import StageSupport
internal import Telemetry

extension ExpanderLoop {
    /// The interval between two confirmations that the view of a quiet partition is up to date.
    static let asOfMilliseconds = 600_000

    /// Does the regular work. The loop calls it once a second.
    func upkeep(_ now: Instant) throws {
        try starts.retryBlocked(now, opening: member.owned.keys)
        registry.retryBlocked(now)
        transaction.serve()
        writer.serve()
        askTheTime(now)
        if writer.isRuined { throw StageFailure.client("a producer of the expander is unusable") }
        tellObstacles()
        metrics.overlay.set(Double(starts.overlayRows))
        metrics.shared.clockDoubtSeconds.set(Double(time.doubtMilliseconds) / 1000)
        metrics.pageRows.set(Double(pageSize.rows))
        let queues = member.owned.values.flatMap(\.queues.all)
        metrics.shared.inFlight.set(Double(queues.reduce(0) { $0 + $1.count }))
        let oldest = queues.compactMap { $0.waiting.first?.stamp }.min()
        metrics.shared.oldestSeconds.set(Double(max(0, oldest.map { times.now - $0 } ?? 0)) / 1000)
        let isBlocked = starts.blockage != nil || registry.blockage != nil
        metrics.blocked.set(Double(member.stuck(isBlocked: isBlocked)))
        guard isSettled, now >= nextAsOf else { return }
        nextAsOf = now.advanced(byMilliseconds: Self.asOfMilliseconds)
        starts.refreshAsOf()
    }

    private func tellObstacles() {
        var obstacles = member.obstacles
        for blockage in [starts.blockage, registry.blockage].compactMap(\.self) {
            obstacles.insert(blockage.why, at: 0)
        }
        if catalog == nil { obstacles.insert("the catalog has not been read to its end", at: 0) }
        state.setObstacles(obstacles)
    }
}
