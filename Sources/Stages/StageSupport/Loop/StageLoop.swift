internal import Kafka
package import Lifecycle
internal import Telemetry

/// The loop of a stage. It reads records as a member of a group, lets its decider decide, and starts over if a
/// transaction is not committed. It runs on its own thread.
///
/// An iteration does everything that is due, and waits for nothing except a transaction. It leaves nothing half done:
/// records are committed, or they are read again from the committed offsets after the views are read to their ends.
/// This is the only repair. It serves for an unknown outcome of a transaction, a lost producer, a damaged view, and a
/// changed assignment.
package final class StageLoop<Decider: StageDecider> {
    /// The longest wait if nothing is due. It limits the delay of a stop.
    private static var idleMilliseconds: Int { 250 }
    /// The wait while records cannot be decided, or the views must catch up.
    private static var retryMilliseconds: Int { 20 }
    /// The interval of the regular work (`performUpkeep`).
    private static var upkeepMilliseconds: Int { 1000 }
    /// The longest time without a poll while the loop is full. A group member must poll regularly.
    private static var fullMillisecondsMax: Int { 10_000 }
    /// The interval between two confirmations that the views of quiet partitions are up to date.
    private static var freshnessCheckMilliseconds: Int { 600_000 }

    package let stage: StageClients<Decider>
    package let decider: Decider
    private var batch: PendingBatch
    /// The time until which more records gather before the next batch is read.
    private var gatheringUntil: Instant?
    /// The time since which the loop is full. Nil if it is not.
    private var fullSince: Instant?
    private var nextUpkeep: Instant
    /// The next confirmation of the views. After a start they were just read to their ends, and asking again would
    /// delay the first records.
    private var nextFreshnessCheck: Instant

    package init(decider: Decider) {
        stage = decider.stage
        self.decider = decider
        batch = PendingBatch(
            recordsMax: stage.configuration.batchRecordsMax, bytesMax: stage.configuration.batchBytesMax)
        let now = stage.time.now()
        nextUpkeep = now
        nextFreshnessCheck = now.advanced(byMilliseconds: Self.freshnessCheckMilliseconds)
        stage.member.owner = self
        stage.views.owner = self
    }

    // MARK: An iteration

    /// Does everything that is due. Returns when and why the next iteration begins.
    package func runIteration(at now: Instant) throws -> Wakeup {
        if stage.clock.observe(machineTime: stage.time.wall().milliseconds, at: now) {
            decider.machineClockStepped()
        }
        let recovered = try stage.transaction.recoverPartitions(at: now)
        if !recovered.isEmpty { stage.member.resumeSetAside(after: recovered) }
        try stage.member.performDueWork()
        if !batch.isTaken, !canDecide { forgetBatch() }
        if admitRecords(at: now) {
            if batch.isTaken { try poll() }
            if !batch.isTaken { try processRecords() }
        }
        // After the records, so that they do not wait while rows are written to the views.
        try readViews()
        try decider.pollOwnClients()
        if now >= nextUpkeep {
            nextUpkeep = now.advanced(byMilliseconds: Self.upkeepMilliseconds)
            try performUpkeep(at: now)
        }
        let due = canDecide ? try decider.performDueWork(at: now) : nil
        return nextWakeup(at: stage.time.now(), due: due)
    }

    private var canDecide: Bool { stage.canDecide && decider.diskFull == nil }

    /// Reads the topics of the views, and tells the decider which views are complete.
    private func readViews() throws {
        for partition in try stage.views.read() { decider.viewCompleted(of: partition) }
    }

    // MARK: Records

    /// Decides whether the loop reads and decides records in this iteration, and notes since when the loop is full.
    private func admitRecords(at now: Instant) -> Bool {
        // While records cannot be decided, the loop polls too, because the events of the group come with a poll. The
        // records of such a poll are forgotten, and read again after the start-over.
        guard canDecide else {
            fullSince = nil
            return true
        }
        guard isFull else {
            fullSince = nil
            return gatheringUntil.map { now >= $0 } ?? true
        }
        return admitRecordsWhileFull(at: now)
    }

    /// While the loop is full, it reads no records, so that its queues drain and the views catch up. After a limit it
    /// polls all the same. If the overlay is still full then, the loop starts over with an empty one.
    private func admitRecordsWhileFull(at now: Instant) -> Bool {
        guard let since = fullSince, now.milliseconds(since: since) >= Self.fullMillisecondsMax else {
            fullSince = fullSince ?? now
            return false
        }
        fullSince = now
        if isOverlayFull {
            stage.member.startOverLater(logging: "the views lag behind the committed records")
        }
        return true
    }

    /// Whether the decider's queues or the overlay have no space for more records.
    private var isFull: Bool { decider.isFull || isOverlayFull }

    private var isOverlayFull: Bool {
        stage.views.overlayRowCount > stage.configuration.overlayRowsMax
            || stage.views.overlayByteCount > stage.configuration.overlayBytesMax
    }

    /// Handles the events of the group, and reads the next batch.
    private func poll() throws {
        gatheringUntil = nil
        batch.removeAll()
        let previousPollAt = stage.consumer.lastPolledAt
        let events = stage.consumer.poll(into: &batch.records)
        for event in events {
            decider.handle(event)
            try stage.member.handle(event)
        }
        // Records that arrived with a change of the assignment belong to the old assignment.
        if batch.records.isEmpty || stage.member.isStartingOver { return batch.removeAll() }
        observeTimestamps()
        batch.groupByPartition(
            readIn: stage.consumer.epoch, at: stage.time.now(), previousPollAt: previousPollAt,
            serving: stage.member.isServing)
        if batch.isTaken { return batch.removeAll() }
        if !Decider.measuresWaitingRecords { stage.metrics.inFlight.set(Double(batch.records.count)) }
        stage.member.isHoldingRecords = true
    }

    /// Gives the stamps of the batch to the clock, and measures the age of the oldest record.
    private func observeTimestamps() {
        let now = stage.time.now()
        var oldest: Int64?
        for index in 0..<batch.records.count where batch.records[index].isStampedByCluster {
            guard let stamp = batch.records[index].timestamp else { continue }
            stage.clock.observe(stamp: stamp, at: now)
            oldest = min(oldest ?? stamp, stamp)
        }
        guard !Decider.measuresWaitingRecords, let oldest, let time = stage.clock.time(at: now) else {
            return
        }
        stage.metrics.oldestSeconds.set(Double(max(0, time.milliseconds - oldest)) / 1000)
    }

    /// Lets the decider take records of the batch. When all are taken, more records may gather for a while.
    private func processRecords() throws {
        try decider.process(&batch)
        if !canDecide { return forgetBatch() }
        guard batch.isTaken else { return }
        let now = stage.time.now()
        let pause = decider.gatheringMilliseconds(
            after: batch, tookMilliseconds: now.milliseconds(since: batch.readAt))
        if pause > 0 { gatheringUntil = now.advanced(byMilliseconds: pause) }
        forgetBatch()
    }

    /// Forgets the batch, because its records are committed or will be read again.
    private func forgetBatch() {
        batch.removeAll()
        if !Decider.measuresWaitingRecords { stage.metrics.inFlight.set(0) }
        stage.member.isHoldingRecords = false
    }

    // MARK: Waiting

    /// Returns the time of the next iteration, and the sources that bring it forward.
    ///
    /// - Parameter due: the time of the decider's next work without records.
    private func nextWakeup(at now: Instant, due: Wakeup?) -> Wakeup {
        // The next file of a view is opened at once.
        if stage.views.isOpening { return Wakeup(at: now) }
        let retryAt = now.advanced(byMilliseconds: Self.retryMilliseconds)
        // The loop starts over, or a full disk is tried again.
        if !canDecide { return Wakeup(at: retryAt) }
        // The loop is full, and the views catch up.
        if fullSince != nil { return Wakeup(at: min(retryAt, due?.time ?? retryAt), or: .views) }
        // Records are left for another transaction.
        if !batch.isTaken { return Wakeup(at: now) }
        // Partitions wait until their views are complete.
        if stage.member.isRestoring {
            let sources: Wakeup.Sources = gatheringUntil == nil ? [.records, .views] : .views
            return Wakeup(at: min(retryAt, due?.time ?? retryAt), or: sources)
        }
        // More records gather. Nothing wakes the loop before.
        if let gatheringUntil { return Wakeup(at: gatheringUntil, or: []) }
        let idle = Wakeup(at: now.advanced(byMilliseconds: Self.idleMilliseconds))
        guard let due, due.time < idle.time else { return idle }
        return due
    }

    // MARK: Upkeep

    /// Does the regular work, once a second.
    private func performUpkeep(at now: Instant) throws {
        try stage.views.retryFullDisk(at: now, opening: stage.member.assignedPartitions.keys)
        stage.transaction.pollEvents()
        stage.writer.poll()
        if stage.writer.hasFatalError {
            throw StageFailure.client(
                "the producer of dead letters of the \(stage.configuration.group) is unusable")
        }
        if batch.isTaken, !Decider.measuresWaitingRecords { stage.metrics.oldestSeconds.set(0) }
        try decider.performUpkeep(at: now)
        publishState()
        guard canDecide, now >= nextFreshnessCheck else { return }
        nextFreshnessCheck = now.advanced(byMilliseconds: Self.freshnessCheckMilliseconds)
        stage.views.confirmFreshness()
    }

    /// Publishes the readiness problems and the metrics of the loop.
    private func publishState() {
        let fullDisks = [stage.views.diskFull, decider.diskFull].compactMap(\.self)
        stage.state.setReadinessProblems(
            fullDisks.map(\.reason) + decider.readinessProblems + stage.member.readinessProblems)
        stage.metrics.overlayRows.set(Double(stage.views.overlayRowCount))
        stage.metrics.blockedPartitions.set(
            Double(stage.member.stuckPartitionCount(areFilesBlocked: !fullDisks.isEmpty)))
    }
}

extension StageLoop: IteratedLoop {
    /// Runs until it is asked to stop or cannot continue.
    package func run() throws {
        defer { stage.state.setReadinessProblems(["stopped"]) }
        while !stage.state.mustStop { wait(for: try runIteration(at: stage.time.now())) }
        try leaveAndClose()
    }

    /// Leaves the group and closes the views. Everything that was read is committed or will be read again.
    private func leaveAndClose() throws {
        // Records are left that are not committed. A start-over keeps `leave` from committing an end behind them.
        if !batch.isTaken { stage.member.startOverLater() }
        forgetBatch()
        // Rows that the views have received since the last iteration need not be read at the next start.
        _ = try stage.views.read()
        try stage.views.writeRepeatedRows()
        decider.close()
        try stage.member.leave()
        try stage.views.closeAll()
    }
}
