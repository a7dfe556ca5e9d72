internal import Kafka
internal import Lifecycle
internal import Telemetry
internal import Topics

// Starting over: the loop drops its records and reads them again from the committed offsets.

extension GroupMember {
    /// Logs the reason and starts over.
    ///
    /// - Parameter reason: the details, if the message does not say everything.
    package func startOverLater(logging message: StaticString, reason: String = "") {
        log.warning(message, .field("reason", reason))
        startOverLater()
    }

    /// Drops the records of the loop and everything that was read ahead. The loop reads them again from the committed
    /// offsets, after a pause.
    package func startOverLater() {
        startedOver.add()
        scheduleNextTry(after: .failedWork)
        let serving = assignedPartitions.values.filter(\.isServing).map(\.partition)
        consumer.pause(topicPartitions(numbered: serving))
        for partition in assignedPartitions.keys {
            assignedPartitions[partition]?.state = stateWhileRestoring(partition)
        }
        resetPositions()
    }

    /// Schedules the first step, after a pause that grows with each failure.
    private func scheduleNextTry(after cause: StartOverPause.Cause) {
        startOverState = .due(time.now().advanced(byMilliseconds: startOverPause.next(after: cause)))
    }

    /// Takes the next step of starting over, or serves the partitions. The loop calls it once per iteration.
    ///
    /// The order of the steps matters. First the offer of the group is accepted, because all members wait for that.
    /// Then the committed offsets are queried, which succeeds only while no open transaction has newer ones. Then the
    /// loop reads the state that the records need, up to the ends as they are after that. So the state always has the
    /// results of all records before the first one that is read.
    package func performDueWork() throws {
        switch startOverState {
        case .done: try performReadingWork()
        case .offsetsRequested: break
        case .due(let due): if time.now() >= due { try requestCommittedOffsets() }
        }
    }

    /// Accepts the offer of the group, and queries the committed offsets. If the loop is not ready to restore, the next
    /// iteration tries again.
    private func requestCommittedOffsets() throws {
        guard let owner else { return }
        do throws(KafkaError) {
            if let partitions = offerToAccept { try consumer.assignPaused(partitions) }
            offerToAccept = nil
        } catch {
            if error.code.isAccessRefused { throw error }
            return tryAgainLater(because: error.description)
        }
        if assignedPartitions.isEmpty {
            startOverState = .done
            return
        }
        let numbers = assignedPartitions.keys.sorted()
        // The loop opens one file in each iteration, which can take longer than the group waits for its
        // members. So the offer is accepted before.
        guard try owner.isReadyToRestore(numbers) else { return }
        if let problem = try transaction.prepare(withinMilliseconds: BlockingCallLimit.millisecondsMax) {
            return tryAgainLater(because: problem)
        }
        let partitions =
            topicPartitions(numbered: numbers)
            + followedTopics.flatMap { name in numbers.map { topicPartition(of: name, number: $0) } }
        startOverState = .offsetsRequested(consumer.submit(.committedOffsets(partitions)), numbers)
    }

    /// Takes over the committed offsets, and lets the loop restore the state of all partitions.
    func handleCommittedOffsets(_ answer: OffsetQueryResult, of numbers: [Int32]) throws {
        guard case .committedOffsets(let offsets) = answer else {
            guard case .failed(_, let error) = answer else { return }
            if error.code.isAccessRefused { throw error }
            return tryAgainLater(because: error.description)
        }
        let followedOffsets = recordCommittedOffsets(offsets)
        startReadingAll()
        // If the consumer could not start, the next try is scheduled already.
        guard case .offsetsRequested = startOverState else { return }
        try owner?.startRestoring(numbers, followedOffsets: followedOffsets)
        let now = time.now()
        for partition in numbers {
            assignedPartitions[partition]?.state = stateWhileRestoring(partition)
            assignedPartitions[partition]?.restoringSince = now
        }
        startOverState = .done
    }

    /// Sets the positions of the partitions. Returns the offsets in the `followedTopics`.
    private func recordCommittedOffsets(_ committed: [CommittedOffset]) -> [CommittedOffset] {
        var followedOffsets: [CommittedOffset] = []
        var partitionsWithoutOffset: Set<TopicPartition> = []
        for offset in committed {
            guard let topic = topicIndex(of: offset.partition) else {
                followedOffsets.append(offset)
                continue
            }
            assignedPartitions[offset.partition.partition]?.resume(at: offset.offset, in: topic)
            if offset.offset == nil { partitionsWithoutOffset.insert(offset.partition) }
        }
        // Partitions without a committed offset are read from their first offset, which Kafka must tell.
        awaitedFirstOffsets.add(partitionsWithoutOffset, at: time.now())
        awaitedFirstOffsets.submitDueQuery(at: time.now(), with: consumer.submit)
        return followedOffsets
    }

    /// Takes the first step again after a pause.
    func tryAgainLater(because reason: String) {
        log.warning(
            "cannot begin to read now; trying again", .field("topics", topicNames), .field("reason", reason))
        scheduleNextTry(after: .noAnswer)
    }
}
