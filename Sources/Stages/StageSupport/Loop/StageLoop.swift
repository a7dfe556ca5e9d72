internal import Glibc
package import Kafka
package import Lifecycle
internal import Telemetry

/// The loop of a stage. It reads records as a member of a group, lets its decider decide, and starts over if a
/// transaction is not committed.
///
/// A turn does everything that is due, and waits for nothing except a transaction. It leaves nothing half done: records
/// are committed, or they are read again from the committed offsets after the views are read to their ends. This is the
/// only repair. It serves for an unknown outcome of a transaction, a lost producer, a damaged view, and a changed
/// assignment.
package final class StageLoop<Decider: StageDecider> {
    /// The longest wait if nothing is due. It limits the delay of a stop.
    private static var idleMilliseconds: Int { 250 }
    /// The wait before something is tried again.
    private static var troubleMilliseconds: Int { 20 }
    private static var upkeepMilliseconds: Int { 1000 }
    /// The longest time without records while the overlay is full. A group member must poll regularly.
    private static var fullMilliseconds: Int { 10_000 }
    /// The interval between two confirmations that the view of a quiet partition is up to date.
    private static var asOfMilliseconds: Int { 600_000 }

    package let stage: StageClients<Decider>
    package let decider: Decider
    private var hand: BatchInHand
    /// The time until which more records gather.
    private var gathersUntil: Instant?
    /// The time since which the overlay is full.
    private var fullSince: Instant?
    private var nextUpkeep: Instant
    /// The next confirmation of the views. After a start they were just read to their ends, and asking again would delay
    /// the first records.
    private var nextAsOf: Instant

    package init(_ decider: Decider) {
        stage = decider.stage
        self.decider = decider
        hand = BatchInHand(recordsMax: stage.form.batchRecordsMax, bytesMax: stage.form.batchBytesMax)
        let now = stage.time.now()
        nextUpkeep = now
        nextAsOf = now.advanced(byMilliseconds: Self.asOfMilliseconds)
        stage.member.owner = self
        stage.views.owner = self
    }

    // MARK: A turn

    /// Does everything that is due.
    ///
    /// - Returns: the time of the next turn.
    package func turn(at now: Instant) throws -> Wake {
        if stage.clock.tick(machine: stage.time.wall().milliseconds, at: now) {
            decider.machineClockStepped()
        }
        try stage.member.startOver()
        if !hand.isTaken, !isSettled { drop() }
        if mayTakeRecords(at: now) {
            if hand.isTaken { try poll() }
            if !hand.isTaken { try takeRecords() }
        }
        // After the records, so that they do not wait while rows are written to the views.
        try readViews()
        try decider.readOthers()
        if now >= nextUpkeep {
            nextUpkeep = now.advanced(byMilliseconds: Self.upkeepMilliseconds)
            try upkeep(at: now)
        }
        let due = isSettled ? try decider.work(at: now) : nil
        return wake(at: stage.time.now(), due)
    }

    private var isSettled: Bool { stage.isSettled && decider.blockage == nil }

    private func readViews() throws {
        for partition in try stage.views.read() { decider.viewIsComplete(partition) }
    }

    /// Whether the loop reads and decides records in this turn. While the overlay is full, the views catch up first. If
    /// they do not in time, the loop starts over with an empty overlay.
    private func mayTakeRecords(at now: Instant) -> Bool {
        guard isFull, isSettled else {
            fullSince = nil
            return !isSettled || gathersUntil.map { now >= $0 } ?? true
        }
        guard let since = fullSince, now.milliseconds(since: since) >= Self.fullMilliseconds else {
            fullSince = fullSince ?? now
            return false
        }
        fullSince = now
        if isOverlayFull { stage.member.giveUp("the views lag behind the committed records", "") }
        return true
    }

    private var isFull: Bool { decider.isFull || isOverlayFull }

    private var isOverlayFull: Bool {
        stage.views.overlayRows > stage.form.overlayRowsMax
            || stage.views.overlayBytes > stage.form.overlayBytesMax
    }

    private func poll() throws {
        gathersUntil = nil
        hand.drop()
        let polledBefore = stage.consumer.lastPolledAt
        let events = stage.consumer.poll(into: &hand.batch)
        for event in events {
            decider.hear(event)
            try stage.member.hear(event)
        }
        // Records that arrived with a change of the assignment belong to the old assignment.
        if hand.batch.isEmpty || stage.member.mustStartOver { return hand.drop() }
        noteStamps()
        hand.sortOut(
            readIn: stage.consumer.epoch, at: stage.time.now(), after: polledBefore,
            serving: stage.member.serves)
        if hand.isTaken { return hand.drop() }
        if !Decider.measuresWaiting { stage.metrics.inFlight.set(Double(hand.batch.count)) }
        stage.member.isHoldingRecords = true
    }

    private func noteStamps() {
        let now = stage.time.now()
        var oldest: Int64?
        for index in 0..<hand.batch.count where hand.batch[index].isStampedByCluster {
            guard let stamp = hand.batch[index].timestamp else { continue }
            stage.clock.saw(stamp, at: now)
            oldest = min(oldest ?? stamp, stamp)
        }
        guard !Decider.measuresWaiting, let oldest, let time = stage.clock.time(at: now) else { return }
        stage.metrics.oldestSeconds.set(Double(max(0, time.milliseconds - oldest)) / 1000)
    }

    private func takeRecords() throws {
        try decider.take(&hand)
        if !isSettled { return drop() }
        guard hand.isTaken else { return }
        let now = stage.time.now()
        let pause = decider.gatheringMilliseconds(
            after: hand, tookMilliseconds: now.milliseconds(since: hand.readAt))
        if pause > 0 { gathersUntil = now.advanced(byMilliseconds: pause) }
        drop()
    }

    /// Drops the records in hand, because they are committed or will be read again.
    private func drop() {
        hand.drop()
        if !Decider.measuresWaiting { stage.metrics.inFlight.set(0) }
        stage.member.isHoldingRecords = false
    }

    // MARK: Waiting

    private func wake(at now: Instant, _ due: Wake?) -> Wake {
        if stage.views.isOpening { return Wake(at: now) }
        let soon = now.advanced(byMilliseconds: Self.troubleMilliseconds)
        if !isSettled { return Wake(at: soon) }
        if fullSince != nil { return Wake(at: min(soon, due?.at ?? soon), or: .views) }
        if !hand.isTaken { return Wake(at: now) }
        if stage.member.isRestoring {
            let sources: Wake.Sources = gathersUntil == nil ? [.records, .views] : .views
            return Wake(at: min(soon, due?.at ?? soon), or: sources)
        }
        if let gathersUntil { return Wake(at: gathersUntil, or: []) }
        let idle = Wake(at: now.advanced(byMilliseconds: Self.idleMilliseconds))
        guard let due, due.at < idle.at else { return idle }
        return due
    }

    /// Waits until the time of the next turn, or until a source has records.
    private func wait(_ wake: Wake) {
        guard let left = milliseconds(until: wake.at) else { return }
        if wake.sources.isEmpty {
            usleep(UInt32(left) * 1000)
            return
        }
        var descriptors = wake.sources.contains(.records) ? [stage.consumer.descriptor] : []
        if wake.sources.contains(.views) { descriptors.append(stage.views.descriptor) }
        if wake.sources.contains(.others) { descriptors += decider.descriptors }
        guard Consumer.wait(forAnyOf: descriptors, milliseconds: left), wake.gatherMilliseconds > 0 else {
            return
        }
        _ = Consumer.wait(
            forAnyOf: [stage.consumer.descriptor], milliseconds: Int32(wake.gatherMilliseconds))
    }

    /// Returns the time until then, rounded up, or nil if it has come.
    private func milliseconds(until instant: Instant) -> Int32? {
        let left = instant.nanoseconds - stage.time.now().nanoseconds
        return left > 0 ? Int32(clamping: (left + 999_999) / 1_000_000) : nil
    }

    // MARK: Upkeep

    private func upkeep(at now: Instant) throws {
        try stage.views.retryFullDisk(at: now, opening: stage.member.owned.keys)
        stage.transaction.pollEvents()
        stage.writer.poll()
        if stage.writer.hasFatalError {
            throw StageFailure.client("the producer of dead letters of the \(stage.form.group) is unusable")
        }
        if hand.isTaken, !Decider.measuresWaiting { stage.metrics.oldestSeconds.set(0) }
        try decider.upkeep(at: now)
        let blockages = [stage.views.diskFull, decider.blockage].compactMap(\.self)
        stage.state.setReadinessProblems(blockages.map(\.reason) + decider.problems + stage.member.obstacles)
        stage.metrics.overlay.set(Double(stage.views.overlayRows))
        stage.metrics.blocked.set(Double(stage.member.stuck(isBlocked: !blockages.isEmpty)))
        guard isSettled, now >= nextAsOf else { return }
        nextAsOf = now.advanced(byMilliseconds: Self.asOfMilliseconds)
        stage.views.confirmFreshness()
    }
}

extension StageLoop: ThreadLoop {
    /// Runs until it is asked to stop or cannot continue.
    package func run() throws {
        defer { stage.state.setReadinessProblems(["stopped"]) }
        while !stage.state.mustStop { wait(try turn(at: stage.time.now())) }
        try finish()
    }

    /// Leaves the group and closes the views. Everything that was read is committed or will be read again.
    private func finish() throws {
        if !hand.isTaken { stage.member.startOverLater() }
        drop()
        // The rows that have come back since the last turn need not be read at the next start.
        _ = try stage.views.read()
        try stage.views.writeRepeatedRows()
        decider.finish()
        try stage.member.leave()
        try stage.views.finish()
    }
}

extension StageLoop: GroupMemberOwner {
    package func assigned(_ numbers: [Int32]) {
        stage.views.closeFiles(except: numbers)
        decider.assigned(numbers)
        stage.reached(.assigned)
    }

    package func letGo() throws {
        try stage.views.releaseAll()
        decider.letGo()
    }

    package func isReadyToBegin(_ numbers: [Int32]) throws -> Bool {
        guard stage.views.diskFull == nil, decider.blockage == nil, decider.isReady,
            try stage.views.openNextFile(of: numbers)
        else { return false }
        return try decider.openNext(of: numbers)
    }

    package func begin(_ numbers: [Int32], followed offsets: [CommittedOffset]) throws {
        try decider.begin(numbers, followed: offsets)
        try stage.views.startReading(numbers)
    }

    package func flows(_ partition: Int32) {
        decider.flows(partition)
        stage.reached(.restored)
    }

    package var followedOffsets: [OffsetToCommit] { decider.followedOffsets }
}

extension StageLoop: TopicViewsOwner {
    /// The time by which a file is too old. A file with a time ahead of the clock would look young for ever.
    package var decisionTime: Int64 {
        stage.clock.decisionTime(at: stage.time.now()) ?? stage.time.wall().milliseconds
    }

    package func startOverLater() { stage.member.startOverLater() }

    package func viewsDidReach(_ step: TopicViews.Step) {
        stage.reached(step == .opened ? .viewOpened : .viewWritten)
    }
}
