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
    let worker: LaneWorker
    /// The number of requests of the topic that the transaction takes.
    var takenCount = 0
    /// The tokens of the lane's pages. Those of starts count several times.
    var rows = 0
    /// The offset after the registry records that the transaction takes.
    var registryOffset: Int64?
}

extension ExpanderDecider {
    /// The most requests of one lane in a transaction.
    private static let requestsMax = 1000
    /// The most requests of one topic of a lane that are read ahead. Above it, or above `bytesAheadMax`, the topic of
    /// the lane is paused. The limit is what one transaction can take. A lower one would pause more often, and each
    /// pause discards prefetched records, which are then fetched again.
    private static let requestsAheadMax = requestsMax
    static let bytesAheadMax = 1 << 20
    /// The cost of a token in a start, relative to an update. A start also adds a ledger row, which is written, kept in
    /// memory and read back.
    private static let startCost = 6
    /// The most tokens of the first page of an expansion, so that the arrivals behind it begin soon. The rest waits
    /// among the walks.
    static let arrivalRowsMax = 500
    /// The time for which a transaction takes news, one piece after another. All other work of the loop waits
    /// for that long.
    private static let registryChangesMillisecondsMax = 25
    /// The time for which the registry's offsets can wait if the news lead to no output.
    private static let registryCommitIntervalMilliseconds = 1000

    // MARK: Reading

    /// Sorts the records of the batch into the queues of their lanes.
    func process(_ batch: inout PendingBatch) {
        stage.reportStep(.requestsRead)
        for part in batch.parts {
            if let lane = stage.member.assignedPartitions[part.partition] {
                enqueue(part, of: batch.records, in: lane)
            }
        }
        batch.markAllTaken()
        for lane in assignedLanes where lane.isServing {
            for topic in ExpanderInputTopic.allCases where hasReadAhead(lane[topic]) && !lane[topic].isPaused
            {
                lane[topic].isPaused = true
                stage.consumer.pause([topicPartition(of: topic, number: lane.partition)])
            }
        }
    }

    private func enqueue(_ part: BatchPart, of batch: borrowing RecordBatch, in lane: AssignedLane) {
        guard let topic = ExpanderInputTopic(rawValue: part.topic) else { return }
        var part = part
        while !part.isTaken {
            let index = part.nextIndex
            part.markNextTaken()
            let offset = batch[index].offset
            guard lane[topic].isNew(offset: offset) else { continue }
            let request: ExpansionRequest?
            do throws(RejectedRecord) {
                request = try read(batch[index])
            } catch {
                stage.sendToDeadLetters(recordAt: index, of: batch, as: error, at: times.now)
                request = nil
            }
            lane[topic].append(
                UncommittedRequest(
                    request: request, offset: offset, bytes: batch[index].byteCount,
                    stamp: batch[index].timestamp))
        }
    }

    func topicPartition(of topic: ExpanderInputTopic, number partition: Int32) -> TopicPartition {
        stage.topicPartition(of: topic.name, number: partition)
    }

    private func hasReadAhead(_ queue: RequestQueue) -> Bool {
        queue.count >= Self.requestsAheadMax || queue.byteCount >= Self.bytesAheadMax
    }

    private func read(_ record: borrowing Kafka.Record) throws(RejectedRecord) -> ExpansionRequest {
        guard let value = record.value else {
            throw RejectedRecord(code: "empty", reason: "the record has no value")
        }
        do throws(RecordDecodingError) {
            return try unsafe value.withUnsafeBytes { bytes throws(RecordDecodingError) in
                try unsafe ExpansionRequest.decode(bytes, with: reader)
            }
        } catch {
            throw RejectedRecord(error)
        }
    }

    // MARK: Working

    /// Runs one transaction if there is work. Arrivals have separate transactions. If arrivals always wait, every
    /// other transaction is for the walks.
    func runTransaction() throws {
        let serving = assignedLanes.filter { $0.worker != nil }.sorted { $0.partition < $1.partition }
        let arrivals = isOverlayFull(for: .arrivals) ? [] : serving.filter { isWaiting(.arrivals, in: $0) }
        let others =
            isOverlayFull(for: .walks)
            ? [] : serving.filter { isWaiting(.walks, in: $0) || hasRegistryChanges(in: $0) }
        let began = stage.time.now()
        let takesArrivals = !arrivals.isEmpty && (others.isEmpty || !hasJustTakenArrivals)
        hasJustTakenArrivals = takesArrivals
        let topic: ExpanderInputTopic = takesArrivals ? .arrivals : .walks
        // A transaction of arrivals takes no news of other lanes, because that would delay it.
        let lanes = limitedToOneIfNeeded(takesArrivals ? arrivals : others)
        guard !lanes.isEmpty else { return }
        iteration += 1
        // The epoch of the assignment under which the requests were read. The loop has not polled since then.
        let epoch = stage.consumer.epoch
        let first = iteration % lanes.count
        let lanesInTurn = Array(lanes[first...] + lanes[..<first])
        guard var shares = try decideWork(of: lanesInTurn, topic, began: began) else { return }
        shares.removeAll { $0.takenCount == 0 && $0.registryOffset == nil }
        let takesRequests = shares.contains { $0.takenCount > 0 }
        let hasOutput = shares.contains { !$0.worker.expander.output.isEmpty || !$0.worker.table.isUnchanged }
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

    /// Usually returns all lanes. After a transaction has failed because a partition takes no records, returns one lane,
    /// so that the next failure shows which lane has to wait.
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
            guard let worker = lane.worker else { continue }
            worker.begin(at: times.now, atLatest: times.latest, catalog: catalog)
            shares.append(LaneShare(lane: lane, worker: worker))
        }
        guard try catchUpWithRegistry(in: &shares, topic: topic, began: began),
            try expand(topic, in: &shares)
        else { return nil }
        stage.reportStep(.pagesWalked)
        return shares
    }

    // MARK: News

    /// Applies registry records to the files and gives the news to the lanes. It then reads more, while there
    /// is time and no urgent request waits. Each piece has a separate file transaction, because a file keeps
    /// the memory of its largest one.
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
                    try shares[index].worker.expander.catchUp(with: registryChanges)
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
        metrics.lateJobs.add(shares.reduce(0) { $0 + $1.worker.expander.output.jobs })
        return true
    }

    /// Applies the registry records to the lane's file, so that pages show them.
    ///
    /// - Returns: the registry offset to commit, if it differs from the committed one. Then `registryChanges`
    ///   holds the news.
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
            if let newer = shares[index].worker.table.newerRecord {
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
        for request in share.lane[topic].uncommitted.prefix(Self.requestsMax) {
            if share.takenCount > 0, share.rows >= rowsMax || !isTimeLeft() { return }
            switch request.request {
            case .expansion(let expansion):
                let cost = expansion.content.event == .start && !expansion.isDryRun ? Self.startCost : 1
                let rowsLeft = max(1, (rowsMax - share.rows) / cost)
                let walked = try share.worker.expander.expand(
                    expansion, rowsMax: topic == .arrivals ? min(rowsLeft, Self.arrivalRowsMax) : rowsLeft,
                    while: isTimeLeft, page: &page)
                share.rows += cost * walked
            case .stop(let stop): try share.worker.expander.stop(stop)
            case .subscriptionAnswer(let answer): try share.worker.expander.apply(answer)
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

    /// Applies earlier records of `starts` to the view while the cluster stores this transaction. Both take
    /// about the same time. Returns false if there were no records.
    private func readScopeRows() throws -> Bool {
        for partition in try scopeViews.read() { viewCompleted(of: partition) }
        return scopeViews.readCount > 0
    }

    private func applyCommit(of share: LaneShare, topic: ExpanderInputTopic, at now: Instant) {
        let lane = share.lane
        share.worker.table.commit(at: now)
        if let offset = share.registryOffset {
            lane.registryCommitted = offset
            registry.noteCommit(ofLane: lane.partition, below: offset)
        }
        lane[topic].removeFirst(share.takenCount)
        let queue = lane[topic]
        if queue.isPaused, queue.count < Self.requestsAheadMax / 4, queue.byteCount < Self.bytesAheadMax / 4 {
            lane[topic].isPaused = false
            _ = stage.member.resumeReading(topicsAt: [topic.rawValue], of: lane.partition)
        }
        countOutcomes(of: share)
    }

    private func countOutcomes(of share: LaneShare) {
        let jobs = share.worker.expander.output.jobs
        let sheets = share.worker.expander.output.sheets.count
        metrics.jobs.add(jobs)
        metrics.sheets.add(sheets)
        let now = stage.time.wall().milliseconds
        for sheet in share.worker.expander.output.sheets {
            let head = share.worker.expander.output.heads[sheet.head].head
            metrics.sendAge.observe(acceptedAt: head.acceptedAt, now: now, jobs: sheet.lines.count)
        }
        stage.metrics.records(withOutcome: "expanded").add(share.takenCount)
        metrics.subscriptions.add(share.worker.expander.output.subscriptions.count)
        for progress in share.worker.expander.output.progress {
            if case .lanes(_, let tally) = progress.part { metrics.count(tally) }
        }
    }

    /// Sends all records of the transaction. Returns false if the producer refused one.
    private func sendOutput(
        of shares: [LaneShare], by producer: TransactionalProducer, to topics: [Topic]
    ) -> Bool {
        func topic(_ output: OutputTopic) -> Topic { topics[output.rawValue] }
        func send(_ record: some JSONRecord, key: [UInt8], to output: OutputTopic) -> Bool {
            producer.queue(
                to: topic(output), partition: Int32(partitioner.partition(of: key)), key: key.span,
                value: record.encoded().span)
        }
        for share in shares {
            guard
                share.worker.expander.output.sendSheets(
                    of: share.lane.partition, by: producer, urgent: topic(.jobsUrgent), normal: topic(.jobs))
            else { return false }
        }
        stage.reportStep(.jobsSent)
        guard sendScopeRows(of: shares, by: producer, to: topic(.starts)) else { return false }
        stage.reportStep(.scopeRowsSent)
        var reports = CompletionReports()
        for share in shares {
            for progress in share.worker.expander.output.progress { reports.add(progress) }
        }
        for (key, progress) in reports.records {
            guard send(progress, key: key, to: .progress) else { return false }
        }
        stage.reportStep(.progressSent)
        for share in shares {
            for rest in share.worker.expander.output.continuations {
                guard
                    producer.queue(
                        to: topic(.expansions), partition: share.lane.partition, key: nil,
                        value: rest.encoded().span)
                else { return false }
            }
        }
        stage.reportStep(.continuationsSent)
        for share in shares {
            for subscription in share.worker.expander.output.subscriptions {
                guard send(subscription, key: subscription.scopeKey.bytes, to: .subscriptions) else {
                    return false
                }
            }
        }
        stage.reportStep(.subscriptionsSent)
        return true
    }

    /// Sends one row of each lane in turn. The first records of all partitions then come within one
    /// millisecond, and the client adds all partitions to the transaction in one request.
    private func sendScopeRows(
        of shares: [LaneShare], by producer: TransactionalProducer, to topic: Topic
    ) -> Bool {
        let rowsMax = shares.lazy.map { $0.worker.table.changeCount }.max() ?? 0
        for number in 0..<rowsMax {
            for share in shares where number < share.worker.table.changeCount {
                let (key, value) = share.worker.table.changedRecord(at: number)
                guard
                    producer.queue(
                        to: topic, partition: share.lane.partition, key: key.bytes.span, value: value.span)
                else { return false }
            }
        }
        return true
    }
}
