internal import Containers
internal import Kafka
internal import Lifecycle
internal import StageSupport
internal import Telemetry
internal import Topics

// The jobs of the group's lanes, and the events of the group: it offers lanes, revokes them, and answers commits.
extension SenderLoop {
    /// Longest wait for the last commit before the lanes are given back: a ninth of the default session.
    private static let lastCommitMilliseconds = 2_000
    /// Pause before the committed offsets of an offer are asked for again.
    private static let offerRetryMilliseconds = 500

    // MARK: Events of the consumer

    /// Passes sheets to the plan, and handles the events of the group.
    func pollJobs() throws {
        queryOfferedOffsets()
        queryWatermarks()
        let events = consumer.poll(into: &batch)
        // Once a record of ours is stored, its acknowledgement tells the cluster's time better (`SenderClock`).
        if !hasStoredRecord { noteStamps() }
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
        if batch.isFull { expectMoreJobs() } else { plan.consumerIsDrained() }
        batch.clear()
        for event in events { try handle(event) }
    }

    /// Notes the cluster's time from the stamps of records.
    private func noteStamps() {
        for index in 0..<batch.count where batch[index].isStampedByCluster {
            if let stamp = batch[index].timestamp { shared.noteRead(stamp: stamp, at: loop.now) }
        }
    }

    /// Handles an event of the consumer that is a member of the group.
    private func handle(_ event: ConsumerEvent) throws {
        switch event {
        case .offered(let partitions):
            offeredPartitions = partitions
            offsetsQuery = nil
            queryOfferedOffsets()
        case .revoked(_, let deadline):
            offeredPartitions = nil
            let drainDeadline = loop.now.advanced(byMilliseconds: Self.drainMilliseconds)
            plan.revoked(by: min(deadline, drainDeadline), at: time)
        case .lost:
            offeredPartitions = nil
            plan.lost(at: time)
        case .suspended(let milliseconds):
            log.warning(
                "this process was stopped for a while; nothing leaves until the group confirms its lanes",
                .field("milliseconds", milliseconds))
            plan.suspended()
        case .committed(_, let outcome): commitAnswered(outcome)
        case .reachedEnd(let partition, let offset):
            if let topic = topics[partition.topic] {
                plan.reachedEnd(of: topic, lane: partition.partition, at: offset)
            }
        case .failed(.outOfRange(let partition, _)): askForWatermarks(of: partition)
        case .queryCompleted(let id, let answer):
            if id == offsetsQuery { try offsetsAnswered(answer) } else { watermarksAnswered(answer, to: id) }
        case .failed(.partition(_, let error)), .failed(.client(let error)):
            log.warning("jobs cannot be read now", .field("error", error))
        case .failed(.unusable(let error)): throw error
        }
    }

    // MARK: Offers

    /// Asks for the committed offsets of offered partitions, unless the question is under way. The lanes are assigned
    /// when the answer comes.
    private func queryOfferedOffsets() {
        guard let partitions = offeredPartitions, offsetsQuery == nil, loop.now >= nextOffsetsQuery else {
            return
        }
        offsetsQuery = consumer.submit(.committedOffsets(partitions))
    }

    private func offsetsAnswered(_ answer: OffsetQueryResult) throws {
        offsetsQuery = nil
        guard let partitions = offeredPartitions else { return }
        do throws(KafkaError) {
            switch answer {
            case .committedOffsets(let offsets): try assign(partitions, from: offsets)
            case .failed(_, let error): throw error
            case .watermarks, .firstRecords: break
            }
        } catch {
            if error.code.isAccessRefused { throw error }
            nextOffsetsQuery = loop.now.advanced(byMilliseconds: Self.offerRetryMilliseconds)
            log.warning("the group's offsets cannot be read now; trying again", .field("error", error))
        }
    }

    /// Assigns the offered partitions to the consumer, and their lanes to the plan. The partitions are paused until the
    /// plan resumes them.
    private func assign(
        _ partitions: [TopicPartition], from committed: [CommittedOffset]
    ) throws(KafkaError) {
        let numbers = OfferedNumbers(partitions, of: JobTopic.subscription.topics.map(layout.name))
        let starts = laneStarts(of: numbers.complete, from: committed)
        try consumer.assign(
            startingAt: committed.map(\.partition).compactMap { partition in
                guard let topic = topics[partition.topic], let laneStart = starts[partition.partition] else {
                    return nil
                }
                return PartitionStart(
                    partition: partition, position: .offset(laneStart.partitions[topic.rawValue].base))
            })
        consumer.pause(partitions)
        offeredPartitions = nil
        unreadablePartitions = numbers.readinessProblem.map { [$0] } ?? []
        partitionsOutOfRange.removeAll()
        partitionsWithoutOffset = Set(committed.filter { $0.offset == nil }.map(\.partition))
        if let problem = numbers.readinessProblem {
            log.error("lanes are not assigned in all topics", .field("reason", problem))
        }
        plan.assigned(starts.keys.sorted().compactMap { starts[$0] })
        log.info("lanes assigned", .field("count", starts.count))
    }

    /// Returns the starts of lanes, by number. A partition without a committed offset begins at 0. If its first record
    /// lies after that, the consumer reports the offset as out of range, and the partition continues at its first
    /// record.
    private func laneStarts(
        of lanes: [Int32], from committed: [CommittedOffset]
    ) -> [Int32: LaneStart] {
        let beginning = LanePartitionStart(base: 0, metadata: nil)
        var starts: [Int32: LaneStart] = [:]
        for lane in lanes {
            starts[lane] = LaneStart(lane: lane, partitions: JobTopic.allCases.map { _ in beginning })
        }
        for committedOffset in committed {
            guard let topic = topics[committedOffset.partition.topic], let offset = committedOffset.offset
            else { continue }
            starts[committedOffset.partition.partition]?.partitions[topic.rawValue] = LanePartitionStart(
                base: offset, metadata: CommitMetadata(text: committedOffset.metadata))
        }
        return starts
    }

    // MARK: Commits

    /// Commits the offsets that the plan asks for.
    func commit(_ actions: DeliveryActions) {
        guard !actions.commits.isEmpty || actions.isLastCommit else { return }
        let offsets = actions.commits.map { commit in
            OffsetToCommit(
                partition: TopicPartition(layout.name(of: commit.topic.topic), commit.lane),
                offset: commit.offset,
                metadata: commit.metadata.text)
        }
        if actions.isLastCommit {
            // The partitions are given back right after this commit, so the loop waits for the answer.
            let outcome =
                offsets.isEmpty
                ? .committed : consumer.commit(offsets, withinMilliseconds: Self.lastCommitMilliseconds)
            plan.committed(actions.commitNumber, isAccepted: outcome == .committed, at: time)
        } else if let outcome = consumer.commitAsynchronously(offsets) {
            // The commit could not be sent.
            plan.committed(actions.commitNumber, isAccepted: outcome == .committed, at: time)
        } else {
            unansweredCommits.append(actions.commitNumber)
        }
    }

    /// Reports to the plan the answer to the oldest commit without one.
    private func commitAnswered(_ outcome: CommitOutcome) {
        if case .refused(let code) = outcome {
            log.error("offsets are refused", .field("code", code.rawValue))
        }
        guard let number = unansweredCommits.first else {
            preconditionFailure("an answer without a commit")
        }
        unansweredCommits.removeFirst()
        plan.committed(number, isAccepted: outcome == .committed, at: time)
    }

    /// Gives the partitions back, because the plan has given up all lanes.
    func giveBackPartitions() throws {
        receipts.stop()
        markers.removeAll()
        if isStopping { return finish() }
        try consumer.release()
    }
}
