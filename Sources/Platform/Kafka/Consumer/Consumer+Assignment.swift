internal import CRdKafka
package import Lifecycle

extension Consumer {
    /// A reserve within the longest time between polls. A stage that uses all its time to finish work before
    /// a revocation still answers in time.
    package static let revocationMarginMilliseconds = 5000

    /// A reserve within the session timeout, so that a member considers its partitions uncertain a little
    /// before the group may reassign them.
    package static let sessionMarginMilliseconds = 2000

    /// The assignment epoch of the records of the next poll.
    package var epoch: Int { assignment.epoch }
    package var partitions: Set<TopicPartition> { assignment.partitions }
    package var pausedPartitions: Set<TopicPartition> { assignment.pausedPartitions }

    /// Whether the library knows that the group has reassigned our partitions.
    package var isAssignmentLost: Bool { unsafe rd_kafka_assignment_lost(client.pointer) != 0 }

    /// Returns whether external effects are still safe. A process that was suspended may not know that its
    /// partitions were reassigned. Right after it wakes, the library does not know either. So only a later
    /// successful commit clears the suspicion.
    package func isAssignmentCertain(at now: Instant) -> Bool {
        let pollAge = now.milliseconds(since: lastPolledAt)
        let mayHaveBeenSuspended = pollAge >= options.sessionMilliseconds - Self.sessionMarginMilliseconds
        return !mayHaveBeenSuspended && !assignment.isUncertain && !isAssignmentLost && !isClientEnded
    }

    /// Captures the group membership for a transaction over work that was read in `epoch`. Returns nil if this member no
    /// longer owns that work, which the caller must then drop. The epoch is checked after the capture. If it were
    /// checked first, a woken process could commit old work under its new generation.
    package func captureGroupMetadata(forEpoch epoch: Int) -> GroupMetadata? {
        guard let pointer = unsafe rd_kafka_consumer_group_metadata(client.pointer) else { return nil }
        let metadata = unsafe GroupMetadata(pointer: pointer, epoch: epoch)
        return epoch == assignment.epoch && !isAssignmentLost ? metadata : nil
    }

    /// The longest time that an assignment without a group waits for the leaders of its topics.
    private static let leaderLookupMilliseconds = 1000

    /// Starts reading. A group member answers an offer with it; without a group it may be called at any time.
    ///
    /// A group member waits until the offsets of all starts are known. If one stays unknown, the call fails, the
    /// offer is not answered, and the call may be repeated. Without a group, a partition that starts at the
    /// beginning or the end of its log begins when a later poll has its offset, and the others begin at once.
    package func assign(
        startingAt starts: [PartitionStart], withinMilliseconds limit: Int = 5000
    ) throws(KafkaError) {
        if isClientEnded { throw KafkaError(action: "assign partitions", code: .state) }
        let offsets: [TopicPartition: Int64]
        switch options.membership {
        case .group: offsets = try resolveOffsets(of: starts, until: Deadline(milliseconds: limit))
        case .manual, .readers:
            offsets = knownOffsets(of: starts)
            lookUpLeaders(of: offsets.keys)
        }
        let list = PartitionList(offsets)
        try unsafe replaceAssignment(with: list.pointer)
        waitForPreviousAssignment()
        assignment.recordAssignment(of: starts.lazy.map(\.partition))
        for start in starts where offsets[start.partition] == nil { lookups.add(start) }
        lookups.submitDueQuery(at: .now(), with: client.submit)
    }

    /// Assigns the partitions from the group's committed offsets, or else from the beginning.
    package func assignFromCommittedOffsets(
        _ partitions: [TopicPartition], withinMilliseconds limit: Int = 5000
    ) throws(KafkaError) {
        try assign(startingAt: committedOffsets(of: partitions, withinMilliseconds: limit).map(\.start))
    }

    /// Answers an offer before the start of each partition is known. The group waits for the answer, so the
    /// library gets an empty assignment. `startReading` gives it the partitions.
    package func assignPaused(_ partitions: [TopicPartition]) throws(KafkaError) {
        if isClientEnded { throw KafkaError(action: "assign partitions", code: .state) }
        let emptyList = PartitionList([TopicPartition]())
        try unsafe replaceAssignment(with: emptyList.pointer)
        waitForPreviousAssignment()
        assignment.recordAssignment(of: partitions)
        _ = assignment.pause(partitions)
    }

    /// Starts the partitions after `assignPaused`, or restarts partitions. Paused partitions stay paused.
    /// Clear batches that hold records of these partitions, because the records come again.
    ///
    /// The library stops a partition for good if its offset is out of range. Only a restart makes it
    /// continue.
    package func startReading(at offsets: [TopicPartition: Int64]) throws(KafkaError) {
        if isClientEnded { throw KafkaError(action: "start to read partitions", code: .state) }
        let paused = assignment.pausedPartitions
        let list = PartitionList(offsets)
        try unsafe replaceAssignment(with: list.pointer)
        waitForPreviousAssignment()
        pause(Array(paused))
    }

    /// Releases the partitions: the answer to a revocation or a loss.
    package func release() throws(KafkaError) {
        // An ended client no longer has an assignment.
        if isClientEnded { return assignment.recordRelease() }
        try unsafe replaceAssignment(with: nil)
        waitForPreviousAssignment()
        assignment.recordRelease()
    }

    /// Answers a revocation while the consumer closes. After that the library may no longer answer, neither a
    /// query of its assignment nor a call that ends a pause. So this does not call `release`. An offer gets
    /// no answer: the library does not wait for it, and an answer after the close would block forever.
    func answerRevocationAtClose() {
        let wasRevoked = client.events.groupEvents.rebalanceChanges.contains {
            if case .revoked = $0 { true } else { false }
        }
        client.events.groupEvents.rebalanceChanges = []
        guard wasRevoked else { return }
        _ = unsafe rd_kafka_assign(client.pointer, nil)
        assignment.recordRelease()
    }

    /// Asks for the leaders that the library does not know. A group member has learned its topics by joining, and a
    /// look-up of an offset asks for its leader. Otherwise the library would begin to read half a second later: it
    /// waits so long if it does not know a leader. Errors are ignored, because the library then looks for the leader
    /// itself.
    private func lookUpLeaders(of partitions: some Sequence<TopicPartition>) {
        let deadline = Deadline(milliseconds: Self.leaderLookupMilliseconds)
        for name in Set(partitions.map(\.topic)).subtracting(topicsWithKnownLeaders) {
            guard let topic = try? Topic(name: name, client: client),
                (try? client.describe(topic, until: deadline)) != nil
            else { continue }
            topicsWithKnownLeaders.insert(name)
        }
    }

    /// Gives the library a new assignment, or none.
    private func replaceAssignment(
        with list: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>?
    ) throws(KafkaError) {
        lookups.removeAll()
        stoppedPartitions = []
        // Inside the library, a pause outlives its assignment.
        resume(Array(assignment.pausedPartitions))
        let code = unsafe KafkaErrorCode(rd_kafka_assign(client.pointer, list))
        guard code == .none else { throw KafkaError(action: "change the assignment", code: code) }
        forgetTopicAddresses()
    }

    /// Starts partitions of the assignment whose offsets are known now. The other partitions continue.
    func startFoundPartitions(at offsets: [TopicPartition: Int64]) throws(KafkaError) {
        if offsets.isEmpty { return }
        let list = PartitionList(offsets)
        // A partition whose offset was out of range is still in the library's assignment, and stands still.
        let stopped = PartitionList(offsets.keys.filter(stoppedPartitions.contains))
        if stopped.count > 0 {
            try unsafe changeAssignment(by: rd_kafka_incremental_unassign(client.pointer, stopped.pointer))
            waitForPreviousAssignment()
        }
        try unsafe changeAssignment(by: rd_kafka_incremental_assign(client.pointer, list.pointer))
        stoppedPartitions.subtract(offsets.keys)
        let paused = PartitionList(offsets.keys.filter(assignment.pausedPartitions.contains))
        if paused.count > 0 { _ = unsafe rd_kafka_pause_partitions(client.pointer, paused.pointer) }
        forgetTopicAddresses()
    }

    private func changeAssignment(by error: OpaquePointer?) throws(KafkaError) {
        guard let error = unsafe error else { return }
        defer { unsafe rd_kafka_error_destroy(error) }
        throw KafkaError(
            action: "change the assignment", code: unsafe KafkaErrorCode(rd_kafka_error_code(error)))
    }

    /// Waits until the library has released the previous assignment. Its thread gets one message per
    /// partition to stop reading, and a second one when that is done. A partition that gets a second stop in
    /// between ends the process (librdkafka issue 5573). So this asks the thread twice for its assignment. Each
    /// question waits behind one of the messages.
    private func waitForPreviousAssignment() {
        for _ in 0..<2 {
            var list: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>?
            if unsafe rd_kafka_assignment(client.pointer, &list) == RD_KAFKA_RESP_ERR_NO_ERROR,
                let list = unsafe list
            {
                unsafe rd_kafka_topic_partition_list_destroy(list)
            }
        }
    }

    /// Stops the delivery of records from these partitions. The membership continues. Ignores partitions that
    /// this member does not own or that are already paused.
    package func pause(_ partitions: [TopicPartition]) {
        let newlyPaused = assignment.pause(partitions)
        if newlyPaused.isEmpty { return }
        let list = PartitionList(newlyPaused)
        _ = unsafe rd_kafka_pause_partitions(client.pointer, list.pointer)
    }

    /// Resumes paused partitions. Ignores all others.
    package func resume(_ partitions: [TopicPartition]) {
        let resumed = assignment.resume(partitions)
        if resumed.isEmpty { return }
        let list = PartitionList(resumed)
        _ = unsafe rd_kafka_resume_partitions(client.pointer, list.pointer)
    }

    /// Records the rebalance changes of the poll and appends them to its events.
    func takeRebalanceChanges(into events: inout [ConsumerEvent]) {
        for change in client.events.groupEvents.rebalanceChanges {
            switch change {
            case .offered(let partitions):
                assignment.recordOffer(of: partitions)
                client.metrics.countRebalance(kind: "offered")
                events.append(.offered(partitions))
            case .revoked(let partitions):
                if isAssignmentLost {
                    lose(partitions, events: &events)
                } else {
                    revoke(partitions, events: &events)
                }
            }
        }
        client.events.groupEvents.rebalanceChanges = []
        // The stage did not answer the revocation in time.
        if case .revocation(let partitions) = assignment.pendingRebalance, isAssignmentLost {
            lose(partitions, events: &events)
        }
    }

    private func revoke(_ partitions: [TopicPartition], events: inout [ConsumerEvent]) {
        let drainMilliseconds = max(
            options.pollMillisecondsMax / 2, options.pollMillisecondsMax - Self.revocationMarginMilliseconds)
        assignment.recordRevocation(of: partitions)
        client.metrics.countRebalance(kind: "revoked")
        events.append(.revoked(partitions, by: lastPolledAt.advanced(byMilliseconds: drainMilliseconds)))
    }

    private func lose(_ partitions: [TopicPartition], events: inout [ConsumerEvent]) {
        assignment.recordLoss(of: partitions)
        client.metrics.countRebalance(kind: "lost")
        events.append(.lost(partitions))
    }
}
