package import Telemetry

extension TopicStore {
    /// The interval at which the owner should call `upkeep`.
    package static let upkeepMilliseconds = 500

    /// The interval of sweeps. A segment that was not used since the last sweep is closed.
    private static let sweepMilliseconds: Int64 = 60_000

    /// Gives finished work to the logs. Called on the loop thread after `wake`. `now` is the expiry
    /// clock's time, because the grace time of tombstones begins with it.
    package func deliver(now: WallTime) {
        for result in environment.flusher.takeResults() { logs[result.log]?.handleFlushResult(result) }
        for result in worker.takeResults() { logs[result.log]?.finishCompaction(with: result, now: now) }
    }

    /// Starts the retention and compactions that are due; the worker does the long part. `now` is the
    /// expiry clock's time.
    package func upkeep(now: WallTime) {
        saveUnsavedCatalog()
        if now.isDue(nextSweep, within: Self.sweepMilliseconds) {
            nextSweep = now.milliseconds + Self.sweepMilliseconds
            environment.openSegments.sweep()
        }
        for log in logs.values {
            let paths = log.applyRetention(now: now)
            if !paths.isEmpty { worker.submit(.remove(paths)) }
            log.retryFlush()
            log.retryCheckpoint()
            log.expireProducers(now: now)
            guard let plan = log.compactionPlan(now: now) else { continue }
            log.isCompacting = true
            worker.submit(.compact(plan))
        }
    }
}

extension PartitionLog {
    /// Time for which an idle producer's sequences are kept, as on Kafka.
    static let producerExpiryMilliseconds: Int64 = 24 * 3_600_000
    private static let producerExpiryCheckMilliseconds: Int64 = 60_000

    /// Forgets idle producers, once a minute.
    func expireProducers(now: WallTime) {
        guard now.isDue(nextProducerExpiry, within: Self.producerExpiryCheckMilliseconds) else { return }
        nextProducerExpiry = now.milliseconds + Self.producerExpiryCheckMilliseconds
        producers.expire(usedBefore: now.milliseconds - Self.producerExpiryMilliseconds)
    }
}

extension WallTime {
    /// Whether a due time has come, in milliseconds since 1970. It was set at most `wait` milliseconds ahead.
    /// If it is farther away than that, the clock went back since then, and the time counts as come.
    func isDue(_ time: Int64, within wait: Int64) -> Bool {
        milliseconds >= time || time - milliseconds > wait
    }
}
