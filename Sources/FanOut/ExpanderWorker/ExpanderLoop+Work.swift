internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import Registry
internal import Stages
internal import Store
internal import Telemetry
internal import Topics

/// What a transaction has done of a lane.
struct LaneShare {
    let lane: OwnedLane
    let worker: LaneWorker
    /// Requests of the topic that it took.
    var taken = 0
    /// Tokens of its page, and what its requests cost beside them.
    var rows = 0
    /// Behind what it has heard of the registry.
    var registryOffset: Int64?
}

/// What the lanes of a transaction have done.
private struct WalkedLanes {
    var list: [LaneShare] = []
    /// Of their pages.
    var rows = 0
    /// How much of a page they were to walk through.
    var pageShare = 1.0
    /// What the registry's news took, and what the pages did, for all of them together.
    var newsSeconds = 0.0
    var pageSeconds = 0.0
}

/// What a lane may look at in a transaction.
private struct PageShare {
    let rows: Int
    /// However much they cost.
    private let rowsMin: Int

    init(of rows: Int, among lanes: Int) {
        self.rows = max(1, rows / max(1, lanes))
        rowsMin = max(1, PageSize.rowsMin / max(1, lanes))
    }

    /// Rounded up: a page that is never quite full would never grow.
    func rowsMax(costing cost: Int, after rows: Int) -> Int {
        max(rowsMin, (self.rows - rows + cost - 1) / cost)
    }
}

extension ExpanderLoop {
    /// Requests of one lane in a transaction.
    private static let requestsMax = 1000
    /// Requests of a lane's usual topic that are read ahead, and their bytes; beyond either reading them waits. A
    /// transaction's worth: what was fetched behind them is thrown away and fetched again.
    private static let requestsAheadMax = requestsMax
    private static let bytesAheadMax = 1 << 20
    /// Requests that a lane is walked through before the next lane's turn.
    private static let requestsInTurn = 16
    /// A request costs at least as much as so many tokens.
    private static let requestRows = 4
    /// A start costs as much as so many tokens that are told something: it is entered in the ledger, written, kept, and
    /// read back. Without that the pages behind a large update would be far too large for starts.
    private static let startRows = 6
    /// How long a transaction may walk before its commit, so that urgent ones do not wait for it.
    private static let walkMilliseconds = 50
    /// How long after an urgent request another is expected.
    private static let urgentMilliseconds = 1000
    /// Urgent requests of a transaction; with more of them they are not few.
    private static let urgentFewMax = 50
    /// How long a transaction enters news, a piece at a time, while there is more. What waits in the loop waits as
    /// long.
    private static let newsMilliseconds = 25
    /// How long the registry's offsets can wait when nobody has to be told.
    private static let registryMilliseconds = 1000

    // MARK: Reading

    /// Sorts what was read by its lanes.
    func queueRequests() {
        onStep(.requestsRead)
        noteStamps()
        for index in 0..<batch.count {
            let (partition, offset) = (batch[index].partition, batch[index].offset)
            let topic = ExpandedTopic(index: batch[index].topic)
            guard let lane = member.owned[partition], lane.isServing,
                lane.queues[topic].isNew(offset)
            else {
                continue
            }
            let request: ExpansionRequest?
            do throws(Misfit) {
                request = try read(batch[index], of: topic)
            } catch {
                bury(index, of: batch, from: topic, as: error)
                request = nil
            }
            lane.queues[topic].append(
                WaitingRequest(
                    request: request, offset: offset, bytes: batch[index].byteCount,
                    stamp: batch[index].timestamp))
        }
        for lane in member.owned.values where lane.isServing && !lane.isPaused && isAhead(lane) {
            lane.isPaused = true
            pause(.usual, of: lane)
        }
    }

    private func isAhead(_ lane: OwnedLane) -> Bool {
        let queue = lane.queues[.usual]
        return queue.count >= Self.requestsAheadMax || queue.bytes >= Self.bytesAheadMax
    }

    private func read(
        _ record: borrowing Kafka.Record, of topic: ExpandedTopic
    ) throws(Misfit) -> ExpansionRequest {
        guard let value = record.value else { throw Misfit("empty", "the record has no value") }
        do throws(RecordError) {
            // What is urgent is nearly always one lane's.
            return topic == .urgent ? try decode(value) : try requests.value(of: value, decode: decode)
        } catch {
            throw Misfit(error)
        }
    }

    private func decode(_ value: Span<UInt8>) throws(RecordError) -> ExpansionRequest {
        try unsafe value.withUnsafeBytes { bytes throws(RecordError) in
            try unsafe ExpansionRequest.decode(bytes, with: reader)
        }
    }

    private func bury(
        _ index: Int, of batch: borrowing RecordBatch, from topic: ExpandedTopic, as misfit: Misfit
    ) {
        let record = batch[index]
        metrics.shared.deadLetters(misfit.code).add()
        let letter = DeadLetter(
            stage: FanOutService.name, code: misfit.code, reason: misfit.reason,
            topic: layout.name(topic.name), partition: record.partition, offset: record.offset,
            writtenAt: record.timestamp ?? 0, at: times.now)
        writer.bury(record, as: letter)
    }

    // MARK: Working

    /// One transaction, if there is something to do: urgent requests have theirs alone, and where they come all the
    /// time it is every other one.
    func work() throws {
        let serving = member.owned.values.filter { $0.worker != nil }.sorted { $0.partition < $1.partition }
        let urgent = serving.filter { isWaiting(.urgent, in: $0) }
        let others = isFull ? [] : serving.filter { isWaiting(.usual, in: $0) || hasNews($0) }
        let began = Instant.now()
        wasUrgent = !urgent.isEmpty && (others.isEmpty || !wasUrgent)
        let topic: ExpandedTopic = wasUrgent ? .urgent : .usual
        // News of lanes that nothing urgent is in would hold up what is.
        let lanes = wasUrgent ? urgent : others
        guard !lanes.isEmpty else { return }
        turn += 1
        // Of the assignment that the requests were read under: nothing was polled since.
        let epoch = consumer.epoch
        let first = turn % lanes.count
        guard var shares = try walk(Array(lanes[first...] + lanes[..<first]), topic, began: began)
        else { return }
        shares.list.removeAll { $0.taken == 0 && $0.registryOffset == nil }
        let isEmpty = shares.list.allSatisfy {
            $0.worker.expander.output.isEmpty && $0.worker.table.isUnchanged
        }
        if shares.list.allSatisfy({ $0.taken == 0 }), isEmpty {
            guard began >= nextRegistryCommit else { return }
        }
        nextRegistryCommit = began.advanced(byMilliseconds: Self.registryMilliseconds)
        if let problem = writer.acknowledge() {
            return member.giveUp("expansions could not be set aside", problem)
        }
        onStep(.lettersAcknowledged)
        // Captured before the transaction's first record: what is asked later could be a newer membership's.
        guard let group = consumer.captureGroup(forEpoch: epoch) else {
            return member.giveUp("the lanes are another's by now", "")
        }
        startsSeconds = 0
        guard try commit(shares.list, of: topic, group) else { return }
        let took = Instant.now().seconds(since: began)
        metrics.shared.batchSeconds.observe(took)
        if topic == .urgent {
            lastUrgent = (began, shares.list.reduce(0) { $0 + $1.taken })
        } else {
            pageSize.took(
                (took - shares.newsSeconds - startsSeconds) * 1000, walking: shares.pageSeconds * 1000,
                for: shares.rows, of: shares.pageShare)
        }
    }

    /// Where single urgent requests come now and then, the next one is to wait for half a page only. Where they come in
    /// hundreds they wait for one another above all, and smaller pages would make all of them slower.
    private func isUrgentLikely(at now: Instant) -> Bool {
        guard let lastUrgent, lastUrgent.requests <= Self.urgentFewMax else { return false }
        return now.milliseconds(since: lastUrgent.began) < Self.urgentMilliseconds
    }

    private func isWaiting(_ topic: ExpandedTopic, in lane: OwnedLane) -> Bool {
        lane.isServing && !lane.queues[topic].isEmpty
    }

    private func hasNews(_ lane: OwnedLane) -> Bool {
        isNewsRead(of: lane) || !registry.isEntered(lane.partition)
    }

    /// Lets every lane hear its news, and walk its share of the page. Nil when something has to be read anew.
    private func walk(
        _ lanes: [OwnedLane], _ topic: ExpandedTopic, began: Instant
    ) throws -> WalkedLanes? {
        guard let catalog else { return nil }
        let view = ExpanderView(view: catalog)
        var walked = WalkedLanes()
        // One for all, so that what lanes write of the same is the same.
        let times = times
        for lane in lanes {
            guard let worker = lane.worker else { continue }
            worker.table.removeChanges()
            worker.expander.begin(at: times.now, atLatest: times.latest, catalog: view)
            walked.list.append(LaneShare(lane: lane, worker: worker))
        }
        guard try hearNews(&walked.list, topic, began: began) else { return nil }
        let pagesBegan = Instant.now()
        walked.newsSeconds = pagesBegan.seconds(since: began)
        let busy = lanes.count { isWaiting(topic, in: $0) }
        if isUrgentLikely(at: began) { walked.pageShare = 0.5 }
        let share = PageShare(of: Int(Double(pageSize.rows) * walked.pageShare), among: busy)
        guard try walkInTurn(&walked.list, topic, within: share, began: began) else { return nil }
        walked.rows = walked.list.reduce(0) { $0 + $1.rows }
        walked.pageSeconds = Instant.now().seconds(since: pagesBegan)
        onStep(.pagesWalked)
        return walked
    }

    // MARK: News

    /// Enters what was read of the registry, and tells the lanes; and what can be read then, while there is time and
    /// nothing urgent waits. Each piece has a transaction of the file's own: a file keeps the memory of its largest.
    ///
    /// - Returns: false when something has to be read anew.
    private func hearNews(_ shares: inout [LaneShare], _ topic: ExpandedTopic, began: Instant) throws -> Bool
    {
        var isMore = true
        while isMore {
            for index in shares.indices {
                do throws(StoreError) {
                    guard let offset = try takeNews(of: shares[index].lane) else { continue }
                    shares[index].registryOffset = offset
                    try shares[index].worker.expander.hear(news)
                } catch {
                    try repair(shares[index].lane.partition, error)
                    return false
                }
                onStep(.newsHeard)
            }
            isMore =
                topic == .usual && registry.hasMore
                && Instant.now().milliseconds(since: began) < Self.newsMilliseconds
            if isMore { try readRegistry() }
            if member.mustStartOver || registry.blockage != nil { return false }
        }
        metrics.caughtUp.add(shares.reduce(0) { $0 + $1.worker.expander.output.jobs })
        return true
    }

    /// Enters what was read, so that pages show it.
    ///
    /// - Returns: the registry's offset that the transaction commits, where that is another one: then there is
    ///   news.
    private func takeNews(of lane: OwnedLane) throws(StoreError) -> Int64? {
        let hasNews = isNewsRead(of: lane)
        if !hasNews, registry.isEntered(lane.partition) { return nil }
        try registry.commit(lane.partition, tellingInto: &news)
        onStep(.registryApplied)
        guard hasNews else { return nil }
        noteNews()
        return registry.taken(lane.partition)
    }

    /// Whether more was read of the registry than the group has committed.
    private func isNewsRead(of lane: OwnedLane) -> Bool {
        lane.registryCommitted ?? -1 < registry.taken(lane.partition)
    }

    // MARK: Pages

    /// Lanes stay side by side: what a send to a group is to one of them it is to the others, and what one has made of it
    /// the others find made while they are in the same transaction.
    ///
    /// - Returns: false when something has to be read anew.
    private func walkInTurn(
        _ shares: inout [LaneShare], _ topic: ExpandedTopic, within page: PageShare, began: Instant
    ) throws -> Bool {
        var isMore = true
        while isMore {
            isMore = false
            for index in shares.indices where shares[index].lane.isServing {
                do throws(StoreError) {
                    if try walk(&shares[index], topic, within: page, began: began) { isMore = true }
                } catch {
                    try repair(shares[index].lane.partition, error)
                    return false
                }
                if let newer = shares[index].worker.table.newerRecord {
                    throw StageFailure.newerRecord(newer.description)
                }
            }
        }
        return true
    }

    /// The lane's next requests.
    ///
    /// - Returns: whether it has more for this transaction.
    private func walk(
        _ share: inout LaneShare, _ topic: ExpandedTopic, within page: PageShare, began: Instant
    ) throws(StoreError) -> Bool {
        let waiting = share.lane.queues[topic].waiting.prefix(Self.requestsMax).dropFirst(share.taken)
        for request in waiting.prefix(Self.requestsInTurn) {
            if share.rows >= page.rows || Instant.now().milliseconds(since: began) >= Self.walkMilliseconds,
                share.taken > 0
            {
                return false
            }
            switch request.request {
            case .expansion(let expansion):
                let cost = expansion.content.event == .start && !expansion.dryRun ? Self.startRows : 1
                share.rows +=
                    cost
                    * (try share.worker.expander.expand(
                        expansion, isUrgent: topic == .urgent,
                        rowsMax: page.rowsMax(costing: cost, after: share.rows),
                        page: &self.page))
            case .stop(let stop): try share.worker.expander.stop(stop)
            case nil: break
            }
            share.rows += Self.requestRows
            share.taken += 1
        }
        return waiting.count > Self.requestsInTurn
    }

    func repair(_ partition: Int32, _ error: StoreError) throws {
        // Whose file it is stands in the error; a view's directory has its topic's name.
        if error.description.contains("/registry-") {
            try registry.repair(partition, error)
            member.startOverLater()
        } else {
            try starts.rebuild(partition, error)
        }
    }

    // MARK: Committing

    func commit(_ shares: [LaneShare], of topic: ExpandedTopic, _ group: GroupMetadata) throws -> Bool {
        var offsets: [OffsetToCommit] = []
        for share in shares {
            let partition = share.lane.partition
            if let offset = share.registryOffset {
                offsets.append(
                    OffsetToCommit(TopicPartition(layout.name(.registry), partition), offset: offset))
            }
            if share.taken > 0, let last = share.lane.queues[topic].waiting.prefix(share.taken).last {
                offsets.append(OffsetToCommit(place(topic, partition), offset: last.offset + 1))
            }
        }
        if offsets.isEmpty { return true }
        func onTransactionStep(_ step: StageTransaction.Step) {
            onStep(step == .begun ? .transactionBegun : .offsetsSent)
        }
        let outcome = try transaction.run(
            offsets, group, onStep: onTransactionStep, meanwhile: readSomeStarts
        ) { producer, topics in
            send(shares, by: JobSender(producer), to: topics)
        }
        guard outcome == .committed else {
            member.startOverLater()
            return false
        }
        onStep(.committed)
        let now = Instant.now()
        for share in shares { remember(share, topic, at: now) }
        onStep(.overlaid)
        return true
    }

    /// What earlier transactions wrote is entered while the cluster takes this one's: the two take about as long. False
    /// when there was nothing.
    private func readSomeStarts() throws -> Bool {
        let began = Instant.now()
        try readStarts(waitMilliseconds: 0)
        startsSeconds += Instant.now().seconds(since: began)
        return starts.readCount > 0
    }

    private func remember(_ share: LaneShare, _ topic: ExpandedTopic, at now: Instant) {
        let lane = share.lane
        share.worker.table.commit(at: now)
        if let offset = share.registryOffset { lane.registryCommitted = offset }
        lane.queues[topic].removeFirst(share.taken)
        let usual = lane.queues[.usual]
        if lane.isPaused, usual.count < Self.requestsAheadMax / 4, usual.bytes < Self.bytesAheadMax / 4 {
            lane.isPaused = false
            _ = member.resume([ExpandedTopic.usual.index], of: lane.partition)
        }
        count(share)
    }

    private func count(_ share: LaneShare) {
        let jobs = share.worker.expander.output.jobs
        let sheets = share.worker.expander.output.sheets.count
        metrics.jobs.add(jobs)
        metrics.sheets.add(sheets)
        let now = clock().milliseconds
        for sheet in share.worker.expander.output.sheets {
            let head = share.worker.expander.output.heads[sheet.head].head
            metrics.age.observe(acceptedAt: head.acceptedAt, now: now, jobs: sheet.lines.count)
        }
        metrics.shared.records("expanded").add(share.taken)
        metrics.enquiries.add(share.worker.expander.output.enquiries.count)
        for progress in share.worker.expander.output.progress {
            if case .lanes(_, let tally) = progress.part { metrics.count(tally) }
        }
    }

    /// A row of each lane in turn: the first records of all partitions come in one millisecond, and so the client makes
    /// all of them known to the transaction in one request.
    private func sendStarts(_ shares: [LaneShare], by sender: JobSender, to topic: Topic) -> Bool {
        var encoded = EncodedScopes()
        for share in shares { share.worker.table.encodeScopes(with: &encoded) }
        var rows = shares.map(\.worker.table.records)
        var isMore = true
        while isMore {
            isMore = false
            for (index, share) in shares.enumerated() {
                guard let (key, value) = rows[index].next() else { continue }
                isMore = true
                guard sender.send(key: key.bytes, value: value, to: topic, partition: share.lane.partition)
                else { return false }
            }
        }
        return true
    }

    /// False when the producer did not take a record.
    private func send(_ shares: [LaneShare], by sender: JobSender, to topics: [Topic]) -> Bool {
        for share in shares {
            guard
                sender.send(
                    share.worker.expander.output, urgent: topics[Place.jobsUrgent.rawValue],
                    usual: topics[Place.jobs.rawValue])
            else { return false }
        }
        onStep(.jobsSent)
        guard sendStarts(shares, by: sender, to: topics[Place.starts.rawValue]) else { return false }
        onStep(.startsSent)
        var closings = Closings()
        for share in shares {
            for progress in share.worker.expander.output.progress { closings.add(progress) }
        }
        func send(_ record: some LiveActivity.Record, under key: [UInt8], to place: Place) -> Bool {
            sender.send(
                key: key, value: record.encoded(), to: topics[place.rawValue],
                partition: Int32(lanes.partition(of: key)))
        }
        for (key, progress) in closings.all {
            guard send(progress, under: key, to: .progress) else { return false }
        }
        onStep(.progressSent)
        for share in shares {
            for left in share.worker.expander.output.continuations {
                let place: Place = left.isUrgent ? .expansionsUrgent : .expansions
                guard
                    sender.send(
                        key: nil, value: left.expansion.encoded(), to: topics[place.rawValue],
                        partition: share.lane.partition)
                else { return false }
            }
        }
        onStep(.continuationsSent)
        for share in shares {
            for enquiry in share.worker.expander.output.enquiries {
                guard send(enquiry, under: enquiry.groupKey.bytes, to: .sendsTimed) else { return false }
            }
        }
        onStep(.enquiriesSent)
        return true
    }
}
