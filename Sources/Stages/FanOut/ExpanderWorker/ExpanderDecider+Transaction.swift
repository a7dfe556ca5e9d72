internal import Jobs
internal import Kafka
internal import Lifecycle
internal import Payloads
internal import RecordFormat
internal import Registry
internal import Sends
internal import StageSupport
internal import Store
internal import Telemetry
internal import Topics

/// The share of one lane in a transaction.
struct LaneShare {
    let lane: AssignedLane
    let expander: Expander<TransactionScopes>
    /// The number of requests of the topic that the transaction takes.
    var takenCount = 0
    /// The tokens of the lane's pages. Those of starts count several times.
    var rows = 0
    /// The offset after the registry records that the transaction takes.
    var registryOffset: Int64?
}

extension ExpanderDecider {
    /// The cost of a token in a start, relative to an update. A start also adds a ledger row, which is written, kept in
    /// memory and read back.
    private static let startCost = 6
    /// The most tokens of the first page of an expansion, so that the arrivals behind it begin soon. The rest waits
    /// among the walks.
    static let arrivalRowsMax = 500
    /// The time for which a transaction takes news, one piece after another. All other work of the loop waits for that
    /// long.
    private static let registryChangesMillisecondsMax = 25
    /// The time for which the registry's offsets can wait if the news lead to no output.
    private static let registryCommitIntervalMilliseconds = 1000

    /// Runs one transaction if there is work.
    func runTransaction() throws {
        let began = stage.time.now()
        guard let (topic, lanes) = nextWork() else { return }
        // The epoch of the assignment under which the requests were read. The loop has not polled since then.
        let epoch = stage.consumer.epoch
        guard var shares = try decideWork(of: lanes, topic, began: began) else { return }
        shares.removeAll { $0.takenCount == 0 && $0.registryOffset == nil }
        let takesRequests = shares.contains { $0.takenCount > 0 }
        let hasOutput = shares.contains { !$0.expander.output.isEmpty || !$0.expander.table.isUnchanged }
        // News without output can wait.
        if !takesRequests, !hasOutput, began < nextRegistryCommit { return }
        nextRegistryCommit = began.advanced(byMilliseconds: Self.registryCommitIntervalMilliseconds)
        if let problem = stage.waitForDeadLetters() {
            return stage.member.startOverLater(
                logging: "expansions could not be written to the dead letters", reason: problem)
        }
        stage.reportStep(.deadLettersAcknowledged)
        guard try commit(shares, of: topic, readIn: epoch) else { return }
        stage.metrics.batchSeconds.observe(stage.time.now().seconds(since: began))
    }

    /// Returns the topic and the lanes of the next transaction, or nil without work. Arrivals have separate
    /// transactions, which take no news of other lanes, because that would delay them. If arrivals always wait, every
    /// other transaction is for the walks.
    private func nextWork() -> (topic: ExpanderInputTopic, lanes: [AssignedLane])? {
        let serving = assignedLanes.filter { $0.expander != nil }.sorted { $0.partition < $1.partition }
        let arrivals = isOverlayFull(for: .arrivals) ? [] : serving.filter { isWaiting(.arrivals, in: $0) }
        let others =
            isOverlayFull(for: .walks)
            ? [] : serving.filter { isWaiting(.walks, in: $0) || hasRegistryChanges(in: $0) }
        let isTurnOfOthers = !others.isEmpty && previousTopic == .arrivals
        previousTopic = arrivals.isEmpty || isTurnOfOthers ? .walks : .arrivals
        let lanes = limitedToOneIfNeeded(previousTopic == .arrivals ? arrivals : others)
        if lanes.isEmpty { return nil }
        // The first lane changes with each transaction, so that no lane is always last.
        transactionNumber += 1
        let first = transactionNumber % lanes.count
        return (previousTopic, Array(lanes[first...] + lanes[..<first]))
    }

    /// Usually returns all lanes. After a transaction has failed because a partition takes no records, returns one
    /// lane, so that the next failure shows which lane has to wait.
    private func limitedToOneIfNeeded(_ lanes: [AssignedLane]) -> [AssignedLane] {
        guard stage.isLimitedToOnePartition else { return lanes }
        let chosen = stage.partitionsOfNextTransaction(from: lanes.map(\.partition))
        return lanes.filter { chosen.contains($0.partition) }
    }

    func isWaiting(_ topic: ExpanderInputTopic, in lane: AssignedLane) -> Bool {
        lane.isServing && !lane[topic].isEmpty
    }

    private func hasRegistryChanges(in lane: AssignedLane) -> Bool {
        hasUncommittedChanges(in: lane) || !registry.isFullyApplied(lane: lane.partition)
    }

    /// Gives every lane its news of the registry, and lets it walk its pages. Returns nil if something must be read
    /// again.
    private func decideWork(
        of lanes: [AssignedLane], _ topic: ExpanderInputTopic, began: Instant
    ) throws -> [LaneShare]? {
        guard let catalog else { return nil }
        var shares: [LaneShare] = []
        // All lanes use one time, so that they write equal records for the same send.
        let times = times
        for lane in lanes {
            guard let expander = lane.expander else { continue }
            expander.beginTransaction(at: times.now, atLatest: times.latest, catalog: catalog)
            shares.append(LaneShare(lane: lane, expander: expander))
        }
        guard try catchUpWithRegistry(in: &shares, topic: topic, began: began),
            try expand(topic, in: &shares)
        else { return nil }
        stage.reportStep(.pagesWalked)
        return shares
    }

    // MARK: News

    /// Applies registry records to the files and gives the news to the lanes. It then reads more, while there is time
    /// and no urgent request waits. Each piece has a separate file transaction, because a file keeps the memory of its
    /// largest one.
    ///
    /// - Returns: false if something must be read again.
    private func catchUpWithRegistry(
        in shares: inout [LaneShare], topic: ExpanderInputTopic, began: Instant
    ) throws -> Bool {
        var isMore = true
        while isMore {
            for index in shares.indices {
                do throws(StoreError) {
                    guard let offset = try applyRegistryRecords(of: shares[index].lane) else { continue }
                    shares[index].registryOffset = offset
                    try shares[index].expander.catchUp(with: registryChanges)
                } catch {
                    try repair(partition: shares[index].lane.partition, after: error)
                    return false
                }
                stage.reportStep(.registryChangesRead)
            }
            isMore =
                topic == .walks && registry.hasMore
                && stage.time.now().milliseconds(since: began) < Self.registryChangesMillisecondsMax
            if isMore { try readRegistry() }
            if stage.member.isStartingOver || registry.diskFull != nil { return false }
        }
        // The pages are not walked yet, so all jobs are of late tokens.
        metrics.lateJobs.add(shares.reduce(0) { $0 + $1.expander.output.jobs })
        return true
    }

    /// Applies the registry records to the lane's file, so that pages show them.
    ///
    /// - Returns: the registry offset to commit, if it differs from the committed one. Then `registryChanges` holds the
    ///   news.
    private func applyRegistryRecords(of lane: AssignedLane) throws(StoreError) -> Int64? {
        let hasNews = hasUncommittedChanges(in: lane)
        if !hasNews, registry.isFullyApplied(lane: lane.partition) { return nil }
        try registry.commit(lane: lane.partition, changesInto: &registryChanges)
        stage.reportStep(.registryApplied)
        guard hasNews else { return nil }
        observeRegistrationTimes()
        return registry.nextOffset(of: lane.partition)
    }

    /// Whether registry records were read that the group has not committed yet.
    private func hasUncommittedChanges(in lane: AssignedLane) -> Bool {
        let nextOffset = registry.nextOffset(of: lane.partition)
        return lane.registryCommitted.map { $0 < nextOffset } ?? true
    }

    // MARK: Pages

    /// Walks one lane after another. Each gets an equal part of the time and of the tokens that are left.
    ///
    /// - Returns: false if something must be read again.
    private func expand(_ topic: ExpanderInputTopic, in shares: inout [LaneShare]) throws -> Bool {
        // Half of the time is for the walks, because the commit takes about as long.
        let end = stage.time.now().advanced(byMilliseconds: settings.pageMilliseconds / 2)
        let busy = shares.indices.filter { isWaiting(topic, in: shares[$0].lane) }
        var rowsLeft = settings.pageRowsMax
        for (position, index) in busy.enumerated() {
            let lanesLeft = busy.count - position
            let now = stage.time.now()
            let laneEnd = now.advanced(byMilliseconds: max(0, end.milliseconds(since: now)) / lanesLeft)
            do throws(StoreError) {
                try expand(topic, in: &shares[index], rowsMax: max(1, rowsLeft / lanesLeft), until: laneEnd)
            } catch {
                try repair(partition: shares[index].lane.partition, after: error)
                return false
            }
            rowsLeft -= shares[index].rows
            // A newer version of this program has written a row that this one cannot read, so it must not decide.
            if let newer = shares[index].expander.table.newerRecord {
                throw StageFailure.newerRecord(newer.description)
            }
        }
        return true
    }

    /// Handles the lane's next requests, at least one.
    private func expand(
        _ topic: ExpanderInputTopic, in share: inout LaneShare, rowsMax: Int, until end: Instant
    ) throws(StoreError) {
        let isTimeLeft = { [stage] in stage.time.now() < end }
        for request in share.lane[topic].uncommitted.prefix(RequestQueue.countMax) {
            if share.takenCount > 0, share.rows >= rowsMax || !isTimeLeft() { return }
            switch request.request {
            case .expansion(let expansion):
                let cost = expansion.content.event == .start && !expansion.isDryRun ? Self.startCost : 1
                let rowsLeft = max(1, (rowsMax - share.rows) / cost)
                let walked = try share.expander.expand(
                    expansion, rowsMax: topic == .arrivals ? min(rowsLeft, Self.arrivalRowsMax) : rowsLeft,
                    while: isTimeLeft)
                share.rows += cost * walked
            case .stop(let stop): try share.expander.stop(stop)
            case .subscriptionAnswer(let answer): try share.expander.apply(answer)
            case nil: break
            }
            share.takenCount += 1
        }
    }

    func repair(partition: Int32, after error: StoreError) throws {
        if registry.contains(error, ofLane: partition) {
            try registry.repair(lane: partition, after: error)
            stage.member.startOverLater()
        } else {
            try scopeViews.rebuild(partition, after: error)
        }
    }

    // MARK: Committing

    func commit(_ shares: [LaneShare], of topic: ExpanderInputTopic, readIn epoch: Int) throws -> Bool {
        var offsets: [OffsetToCommit] = []
        for share in shares {
            let partition = share.lane.partition
            if let offset = share.registryOffset {
                offsets.append(
                    OffsetToCommit(
                        partition: stage.topicPartition(of: .registry, number: partition), offset: offset))
            }
            if share.takenCount > 0,
                let last = share.lane[topic].uncommitted.prefix(share.takenCount).last
            {
                offsets.append(
                    OffsetToCommit(
                        partition: topicPartition(of: topic, number: partition), offset: last.offset + 1))
            }
        }
        if offsets.isEmpty { return true }
        guard
            try stage.commit(
                offsets, readIn: epoch, meanwhile: readScopeRows,
                send: { producer, topics in
                    sendOutput(of: shares, by: producer, to: topics)
                })
        else { return false }
        let now = stage.time.now()
        for share in shares { applyCommit(of: share, topic: topic, at: now) }
        stage.reportStep(.overlayUpdated)
        return true
    }

    /// Applies earlier records of `starts` to the view while the cluster stores this transaction. Both take about the
    /// same time. Returns false if there were no records.
    private func readScopeRows() throws -> Bool {
        for partition in try scopeViews.read() { viewCompleted(of: partition) }
        return scopeViews.readCount > 0
    }

    private func applyCommit(of share: LaneShare, topic: ExpanderInputTopic, at now: Instant) {
        let lane = share.lane
        share.expander.table.commit(at: now)
        if let offset = share.registryOffset {
            lane.registryCommitted = offset
            registry.noteCommit(ofLane: lane.partition, below: offset)
        }
        lane[topic].removeFirst(share.takenCount)
        if lane[topic].isPaused, lane[topic].isNearlyEmpty {
            lane[topic].isPaused = false
            _ = stage.member.resumeReading(topicsAt: [topic.rawValue], of: lane.partition)
        }
        countOutcomes(of: share)
    }
}
