internal import Glibc
package import Kafka
package import Lifecycle
internal import Telemetry

/// The loop of a stage. It reads records as a member of a group, lets its decider decide, and starts over if a
/// transaction is not committed.
///
/// An iteration does everything that is due, and waits for nothing except a transaction. It leaves nothing half done:
/// records are committed, or they are read again from the committed offsets after the views are read to their ends.
/// This is the only repair. It serves for an unknown outcome of a transaction, a lost producer, a damaged view, and a
/// changed assignment.
package final class StageLoop<Decider: StageDecider> {
    /// The longest wait if nothing is due. It limits the delay of a stop.
    private static var idleMilliseconds: Int { 250 }
    /// The wait while records cannot be decided.
    private static var retryMilliseconds: Int { 20 }
    /// The interval of the regular work.
    private static var upkeepMilliseconds: Int { 1000 }
    /// The longest time without records while the overlay is full. A group member must poll regularly.
    private static var overlayFullMillisecondsMax: Int { 10_000 }
    /// The interval between two confirmations that the view of a quiet partition is up to date.
    private static var freshnessCheckMilliseconds: Int { 600_000 }

    package let stage: StageClients<Decider>
    package let decider: Decider
    private var batch: PendingBatch
    /// The time until which more records gather before the next batch is read.
    private var gatheringUntil: Instant?
    /// The time since which the overlay is full.
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

    /// Does everything that is due. Returns the time of the next iteration.
    package func runIteration(at now: Instant) throws -> Wakeup {
        if stage.clock.observe(machineTime: stage.time.wall().milliseconds, at: now) {
            decider.machineClockStepped()
        }
        let recovered = try stage.transaction.recoverPartitions(at: now)
        if !recovered.isEmpty { stage.member.resumeSetAside(after: recovered) }
        try stage.member.performDueWork()
        if !batch.isTaken, !canDecide { dropBatch() }
        if mayProcessRecords(at: now) {
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

    private func readViews() throws {
        for partition in try stage.views.read() { decider.viewCompleted(of: partition) }
    }

    // MARK: Records

    /// Whether the loop reads and decides records in this iteration. While the overlay is full, the views catch up
    /// first. If they do not in time, the loop starts over with an empty overlay.
    private func mayProcessRecords(at now: Instant) -> Bool {
        guard isFull, canDecide else {
            fullSince = nil
            // While records cannot be decided, the loop polls too, because the events of the group come with a poll.
            if !canDecide { return true }
            return gatheringUntil.map { now >= $0 } ?? true
        }
        guard let since = fullSince, now.milliseconds(since: since) >= Self.overlayFullMillisecondsMax else {
            fullSince = fullSince ?? now
            return false
        }
        fullSince = now
        if isOverlayFull {
            stage.member.startOverLater(logging: "the views lag behind the committed records", reason: "")
        }
        return true
    }

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
        if batch.records.isEmpty || stage.member.mustStartOver { return batch.removeAll() }
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
        if !canDecide { return dropBatch() }
        guard batch.isTaken else { return }
        let now = stage.time.now()
        let pause = decider.gatheringMilliseconds(
            after: batch, tookMilliseconds: now.milliseconds(since: batch.readAt))
        if pause > 0 { gatheringUntil = now.advanced(byMilliseconds: pause) }
        dropBatch()
    }

    /// Drops the batch, because its records are committed or will be read again.
    private func dropBatch() {
        batch.removeAll()
        if !Decider.measuresWaitingRecords { stage.metrics.inFlight.set(0) }
        stage.member.isHoldingRecords = false
    }

    // MARK: Waiting

    /// - Parameter due: the time of the decider's next work without records.
    private func nextWakeup(at now: Instant, due: Wakeup?) -> Wakeup {
        // The next file of a view is opened at once.
        if stage.views.isOpening { return Wakeup(at: now) }
        let retryAt = now.advanced(byMilliseconds: Self.retryMilliseconds)
        // The next step of starting over, or a full disk.
        if !canDecide { return Wakeup(at: retryAt) }
        // The views catch up.
        if fullSince != nil { return Wakeup(at: min(retryAt, due?.time ?? retryAt), or: .views) }
        // Records are left for another transaction.
        if !batch.isTaken { return Wakeup(at: now) }
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

    /// Waits until the time of the next iteration, or until a source has records.
    private func wait(for wakeup: Wakeup) {
        guard let milliseconds = milliseconds(until: wakeup.time) else { return }
        if wakeup.sources.isEmpty {
            usleep(UInt32(milliseconds) * 1000)
            return
        }
        var descriptors = wakeup.sources.contains(.records) ? [stage.consumer.descriptor] : []
        if wakeup.sources.contains(.views) { descriptors.append(stage.views.descriptor) }
        if wakeup.sources.contains(.ownClients) { descriptors += decider.ownClientDescriptors }
        let hasRecords = Consumer.wait(forAnyOf: descriptors, milliseconds: milliseconds)
        guard hasRecords, wakeup.gatheringMilliseconds > 0
        else {
            return
        }
        _ = Consumer.wait(
            forAnyOf: [stage.consumer.descriptor], milliseconds: Int32(wakeup.gatheringMilliseconds))
    }

    /// Returns the time until `instant`, rounded up, or nil if it has come.
    private func milliseconds(until instant: Instant) -> Int32? {
        let nanosecondsPerMillisecond: Int64 = 1_000_000
        let nanoseconds = instant.nanoseconds - stage.time.now().nanoseconds
        guard nanoseconds > 0 else { return nil }
        return Int32(clamping: (nanoseconds + nanosecondsPerMillisecond - 1) / nanosecondsPerMillisecond)
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
            Double(stage.member.stuckPartitionCount(isBlocked: !fullDisks.isEmpty)))
    }
}

extension StageLoop: ThreadLoop {
    /// Runs until it is asked to stop or cannot continue.
    package func run() throws {
        defer { stage.state.setReadinessProblems(["stopped"]) }
        while !stage.state.mustStop { wait(for: try runIteration(at: stage.time.now())) }
        try leaveAndClose()
    }

    /// Leaves the group and closes the views. Everything that was read is committed or will be read again.
    private func leaveAndClose() throws {
        if !batch.isTaken { stage.member.startOverLater() }
        dropBatch()
        // Rows that the views have received since the last iteration need not be read at the next start.
        _ = try stage.views.read()
        try stage.views.writeRepeatedRows()
        decider.close()
        try stage.member.leave()
        try stage.views.closeAll()
    }
}

extension StageLoop: GroupMemberOwner {
    package func partitionsAssigned(_ numbers: [Int32]) {
        stage.views.closeFiles(except: numbers)
        decider.partitionsAssigned(numbers)
        stage.reportStep(.assigned)
    }

    package func partitionsRevoked() throws {
        try stage.views.releaseAll()
        decider.partitionsRevoked()
    }

    package func isReadyToRestore(_ numbers: [Int32]) throws -> Bool {
        guard stage.views.diskFull == nil, decider.diskFull == nil, decider.isReady,
            try stage.views.openNextFile(of: numbers)
        else { return false }
        return try decider.openNextFile(of: numbers)
    }

    package func startRestoring(_ numbers: [Int32], followedOffsets offsets: [CommittedOffset]) throws {
        try decider.startRestoring(numbers, followedOffsets: offsets)
        try stage.views.startReading(numbers)
    }

    package func partitionStartedServing(_ partition: Int32) {
        decider.partitionStartedServing(partition)
        stage.reportStep(.restored)
    }

    package var followedOffsets: [OffsetToCommit] { decider.followedOffsets }
}

extension StageLoop: TopicViewsOwner {
    /// The time by which the views judge the age of their files, in milliseconds since 1970.
    package var decisionTime: Int64 {
        stage.clock.decisionTime(at: stage.time.now()) ?? stage.time.wall().milliseconds
    }

    package func startOverLater() { stage.member.startOverLater() }

    package func viewsDidReach(_ step: TopicViews.Step) {
        stage.reportStep(step == .opened ? .viewOpened : .viewWritten)
    }
}
