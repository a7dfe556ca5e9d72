internal import Containers
internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import StageSupport
internal import Telemetry
internal import Topics

// The group's lanes.
extension SenderLoop {
    /// The time of the last commit before the lanes go: a fifth of the usual session.
    private static let lastCommitMilliseconds = 2_000
    private static let againMilliseconds = 500

    /// Sheets, and what else the group says.
    func poll() throws {
        takeOffer()
        let events = consumer.poll(into: &batch)
        if !knowsTime { noteStamps() }
        let time = time
        for index in 0..<batch.count {
            guard let topic = topics[consumer.topics[batch[index].topic]] else { continue }
            let lane = batch[index].partition
            switch SheetParser.read(batch[index], from: topic) {
            case .sheet(let record):
                plan.arrived(record, from: topic, lane: lane, offset: batch[index].offset, at: time)
            case .malformed(let malformed): plan.arrived(malformed, lane: lane, at: time)
            }
        }
        if batch.isFull { expectMoreJobs() } else { plan.readAllFetched() }
        batch.clear()
        for event in events { try handle(event) }
    }

    private func noteStamps() {
        for index in 0..<batch.count where batch[index].isStampedByCluster {
            if let stamp = batch[index].timestamp { shared.read(stamp, at: loop.now) }
        }
    }

    private func handle(_ event: ConsumerEvent) throws {
        switch event {
        case .offered(let partitions):
            offered = partitions
            offsetsQuestion = nil
            takeOffer()
        case .revoked(_, let deadline):
            offered = nil
            let drain = loop.now.advanced(byMilliseconds: Self.drainMilliseconds)
            plan.revoked(by: min(deadline, drain), at: time)
        case .lost:
            offered = nil
            plan.lost(at: time)
        case .suspended(let milliseconds):
            log.warning(
                "this process was stopped for a while; nothing leaves until the group confirms its lanes",
                .field("milliseconds", milliseconds))
            plan.suspended()
        case .committed(_, let outcome):
            if case .refused(let code) = outcome {
                log.error("offsets are refused", .field("code", code.rawValue))
            }
            guard let number = commitsOut.first else { preconditionFailure("an answer to no commit") }
            commitsOut.removeFirst()
            plan.committed(number, isDone: outcome == .committed, at: time)
        case .reachedEnd(let place, let offset):
            if let topic = topics[place.topic] {
                plan.reachedEnd(of: topic, lane: place.partition, at: offset)
            }
        case .failed(.outOfRange(let place, _)): gaps[consumer.submit(.watermarks([place]))] = place
        case .queryCompleted(let id, let answer):
            if id == offsetsQuestion { try offsetsAnswered(answer) } else { endsAnswered(answer, to: id) }
        case .failed(.partition(_, let error)), .failed(.client(let error)):
            log.warning("jobs cannot be read now", .field("error", error))
        case .failed(.rebuild(let error)): throw error
        }
    }

    /// Asks from where the offered partitions are read. The answer takes the offer.
    private func takeOffer() {
        guard let partitions = offered, offsetsQuestion == nil, loop.now >= nextOffer else { return }
        offsetsQuestion = consumer.submit(.committedOffsets(partitions))
    }

    private func offsetsAnswered(_ answer: OffsetQueryResult) throws {
        offsetsQuestion = nil
        guard let partitions = offered else { return }
        do throws(KafkaError) {
            switch answer {
            case .committedOffsets(let offsets): try begin(partitions, from: offsets)
            case .failed(_, let error): throw error
            case .watermarks, .firstRecords: break
            }
        } catch {
            if error.code.isAccessRefused { throw error }
            nextOffer = loop.now.advanced(byMilliseconds: Self.againMilliseconds)
            log.warning("the group's offsets cannot be read now; trying again", .field("error", error))
        }
    }

    /// Answers the offer. The partitions are paused until the plan wants them.
    private func begin(
        _ partitions: [TopicPartition], from committed: [CommittedOffset]
    ) throws(KafkaError) {
        let offer = laneOffer(committed)
        let starts = offer.starts
        try consumer.assign(
            startingAt: committed.compactMap { place in
                guard let topic = topics[place.partition.topic],
                    let lane = starts[place.partition.partition]
                else { return nil }
                return PartitionStart(
                    partition: place.partition, position: .offset(lane.partitions[topic.rawValue].base))
            })
        consumer.pause(partitions)
        offered = nil
        unreadable = []
        gaps = [:]
        withoutOffset = Set(committed.filter { $0.offset == nil }.map(\.partition))
        for (topic, lanes) in offer.lanesWithout { reportMissing(topic, in: lanes) }
        plan.assigned(starts.keys.sorted().compactMap { starts[$0] })
        log.info("lanes assigned", .field("count", starts.count))
    }

    private func reportMissing(_ topic: JobTopic, in lanes: Int) {
        let name = layout.name(of: topic.topic)
        unreadable.append("\(name) was not offered for \(lanes) lanes")
        log.error(
            "lanes wait: the group offers them without a partition of a topic; check that the topic exists",
            .field("topic", name), .field("lanes", lanes))
    }

    /// A partition without a committed offset begins at 0. If its first record lies behind that, it is out of range, and
    /// continues there.
    private func laneOffer(_ committed: [CommittedOffset]) -> LaneOffer {
        var partitions: [Int32: [JobTopic: LanePartitionStart]] = [:]
        for place in committed {
            guard let topic = topics[place.partition.topic] else { continue }
            let base = place.offset ?? 0
            let metadata = place.offset == nil ? nil : CommitMetadata(text: place.metadata)
            partitions[place.partition.partition, default: [:]][topic] = LanePartitionStart(
                base: base, metadata: metadata)
        }
        return LaneOffer(partitions)
    }

    // MARK: Gaps

    /// Judges a partition whose next offset is out of range.
    private func endsAnswered(_ answer: OffsetQueryResult, to id: OffsetQueryID) {
        guard let place = gaps.removeValue(forKey: id), let topic = topics[place.topic] else { return }
        guard case .watermarks(let found) = answer, let ends = found[place] else {
            gaps[consumer.submit(.watermarks([place]))] = place
            return
        }
        guard let position = plan.position(of: topic, lane: place.partition) else { return }
        if withoutOffset.remove(place) != nil {
            plan.skipped(to: ends.low, of: topic, lane: place.partition)
            return readOn()
        }
        let gap = OffsetGap(partition: place, committed: position, watermarks: ends)
        switch gap.assessment(for: topic.topic) {
        case .inRange: readOn()
        case .transactionMarker:
            plan.skipped(to: ends.low, of: topic, lane: place.partition)
            readOn()
        case .expired:
            log.error(
                "jobs expired before they were read; the partition continues behind them: find out why the senders stood still",
                .field("partition", place.description), .field("from", position), .field("to", ends.low))
            consumer.countSkippedOffsets(gap.missingCount)
            plan.skipped(to: ends.low, of: topic, lane: place.partition)
            readOn()
        case .recordsLost, .logIsShorter:
            unreadable.append(gap.description)
            log.error(
                "a partition of jobs cannot continue, because its committed offset is out of range: stop every sender, then continue with flotilla replay offset",
                .field("partition", place.description), .field("reason", gap.description))
        }
    }

    /// Begins all partitions anew from where the plan has read them. A partition that was out of range moves again.
    private func readOn() {
        let starts = consumer.partitions.compactMap { place -> PartitionStart? in
            guard let topic = topics[place.topic],
                let position = plan.position(of: topic, lane: place.partition)
            else { return nil }
            return PartitionStart(partition: place, position: .offset(position))
        }
        do throws(KafkaError) {
            try consumer.startReading(at: starts)
        } catch {
            // The membership has ended; the lanes are lost and come anew.
            log.warning("partitions of jobs cannot be read on now", .field("error", error))
        }
    }

    // MARK: Offsets

    func commit(_ actions: DeliveryActions) {
        guard !actions.commits.isEmpty || actions.isLastCommit else { return }
        let offsets = actions.commits.map { commit in
            OffsetToCommit(
                partition: TopicPartition(layout.name(of: commit.topic.topic), commit.lane),
                offset: commit.offset,
                metadata: commit.metadata.text)
        }
        if actions.isLastCommit {
            // The partitions go right after it.
            let outcome =
                offsets.isEmpty
                ? .committed : consumer.commit(offsets, withinMilliseconds: Self.lastCommitMilliseconds)
            plan.committed(actions.commitNumber, isDone: outcome == .committed, at: time)
        } else if let outcome = consumer.commitAsynchronously(offsets) {
            plan.committed(actions.commitNumber, isDone: outcome == .committed, at: time)
        } else {
            commitsOut.append(actions.commitNumber)
        }
    }

    /// The plan has let go of all lanes.
    func released() throws {
        receipts.stop()
        if isStopping { return finish() }
        try consumer.release()
    }
}
