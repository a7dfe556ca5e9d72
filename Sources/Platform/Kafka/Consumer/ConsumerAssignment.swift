internal import CRdKafka
package import Lifecycle

extension Consumer {
    /// A reserve within the longest time between polls, so that a drain that uses all its time still ends in
    /// time.
    package static let drainMarginMilliseconds = 5000

    /// A reserve within the session timeout, so that a member considers itself stopped a little before the
    /// group does.
    package static let leaseMarginMilliseconds = 2000

    /// The assignment epoch of the records of the next poll.
    package var epoch: Int { state.epoch }
    package var partitions: Set<TopicPartition> { state.partitions }
    package var paused: Set<TopicPartition> { state.paused }

    /// Whether the library knows that the group has reassigned our partitions.
    package var isLost: Bool { unsafe rd_kafka_assignment_lost(client.pointer) != 0 }

    /// Returns whether external effects are still safe. A process that was stopped may not know that its
    /// partitions were reassigned. Right after it wakes, the library does not know either. So only a later
    /// successful commit clears the suspicion.
    package func isSurelyOurs(at now: Instant) -> Bool {
        let age = now.milliseconds(since: lastPoll)
        return age < options.sessionMilliseconds - Self.leaseMarginMilliseconds && !state.isSuspect && !isLost
            && !isEnded
    }

    /// Captures the group membership for a transaction over work that was read in `epoch`. Returns nil if
    /// this member no longer owns that work: drop it. The epoch is checked after the capture. If it is
    /// checked first, a woken process can commit old work under its new generation.
    package func captureGroup(forEpoch epoch: Int) -> GroupMetadata? {
        guard let pointer = unsafe rd_kafka_consumer_group_metadata(client.pointer) else { return nil }
        let group = unsafe GroupMetadata(pointer, epoch: epoch)
        return epoch == state.epoch && !isLost ? group : nil
    }

    /// The longest time that an assignment without a group waits for the leaders of its topics.
    private static let describeMilliseconds = 1000

    /// Starts reading. A group member answers an offer with it; without a group it may be called at any time.
    /// If the call fails because a beginning stays unknown, the offer is not answered and the call may be
    /// repeated.
    package func assign(
        _ starts: [PartitionStart], withinMilliseconds limit: Int = 5000
    ) throws(KafkaError) {
        if isEnded { throw KafkaError("assign partitions", .state) }
        var starts = starts
        if case .group = options.membership {
            starts = try resolve(starts, Deadline(milliseconds: limit))
        }
        learnLeaders(of: starts)
        let list = PartitionList(starts)
        try unsafe replaceAssignment(list.pointer)
        letGo()
        state.assigned(starts.lazy.map(\.partition))
    }

    /// Assigns the partitions from the group's committed offsets, or else from the beginning.
    package func assignFromCommitted(
        _ partitions: [TopicPartition], withinMilliseconds limit: Int = 5000
    ) throws(KafkaError) {
        try assign(committed(partitions, withinMilliseconds: limit).map(\.start))
    }

    /// Answers an offer before the start of each partition is known. The group waits for the answer, so the
    /// library gets an empty assignment. `begin` gives it the partitions.
    package func hold(_ partitions: [TopicPartition]) throws(KafkaError) {
        if isEnded { throw KafkaError("assign partitions", .state) }
        let none = PartitionList([TopicPartition]())
        try unsafe replaceAssignment(none.pointer)
        letGo()
        state.assigned(partitions)
        _ = state.pause(partitions)
    }

    /// Starts held partitions, or restarts others. Paused partitions stay paused. Clear batches that hold
    /// records of these partitions, because the records come again.
    ///
    /// The library stops a partition for good if its offset is out of range. Only a restart makes it
    /// continue.
    package func begin(_ starts: [PartitionStart]) throws(KafkaError) {
        if isEnded { throw KafkaError("begin partitions", .state) }
        let paused = state.paused
        let list = PartitionList(starts)
        try unsafe replaceAssignment(list.pointer)
        letGo()
        pause(Array(paused))
    }

    /// Releases the partitions: the answer to a revocation or a loss.
    package func release() throws(KafkaError) {
        // An ended client no longer has an assignment.
        if isEnded { return state.released() }
        try unsafe replaceAssignment(nil)
        letGo()
        state.released()
    }

    /// Answers a revocation while the consumer closes. After it the library may answer nothing more, neither
    /// a question about its assignment nor a call that ends a pause. An offer gets no answer: the library
    /// does not wait for it, and an answer after the close would block forever.
    func answerAtClose() {
        let isTakenBack = client.events.group.changes.contains {
            if case .takenBack = $0 { true } else { false }
        }
        client.events.group.changes = []
        guard isTakenBack else { return }
        _ = unsafe rd_kafka_assign(client.pointer, nil)
        state.released()
    }

    /// Asks for the leaders that the library does not know. A group member has learned its topics by joining.
    /// Without a group the library would begin to read half a second later, which is how long it waits if a
    /// leader is unknown. Errors are ignored, because the library also finds out by itself.
    private func learnLeaders(of starts: [PartitionStart]) {
        guard case .manual = options.membership else { return }
        let deadline = Deadline(milliseconds: Self.describeMilliseconds)
        for name in Set(starts.map(\.partition.topic)).subtracting(described) {
            guard let topic = try? Topic(name, of: client), (try? client.describe(topic, deadline)) != nil
            else { continue }
            described.insert(name)
        }
    }

    private func replaceAssignment(
        _ list: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>?
    ) throws(KafkaError) {
        // Inside the library, a pause outlives its assignment.
        resume(Array(state.paused))
        let code = unsafe ErrorCode(rd_kafka_assign(client.pointer, list))
        guard code == .none else { throw KafkaError("change the assignment", code) }
        forgetAddresses()
    }

    /// Waits until the library has released the previous assignment. Its thread gets one message per
    /// partition to stop reading, and a second one when that is done. A partition that gets a second stop in
    /// between ends the process (librdkafka issue 5573). Two questions, one after the other, queue behind
    /// both messages.
    private func letGo() {
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
        let fresh = state.pause(partitions)
        if fresh.isEmpty { return }
        let list = PartitionList(fresh)
        _ = unsafe rd_kafka_pause_partitions(client.pointer, list.pointer)
    }

    /// Resumes paused partitions. Ignores all others.
    package func resume(_ partitions: [TopicPartition]) {
        let held = state.resume(partitions)
        if held.isEmpty { return }
        let list = PartitionList(held)
        _ = unsafe rd_kafka_resume_partitions(client.pointer, list.pointer)
    }

    func takeChanges(_ events: inout [ConsumerEvent]) {
        for change in client.events.group.changes {
            switch change {
            case .offered(let partitions):
                state.offered(partitions)
                client.metrics.rebalanced("offered")
                events.append(.offered(partitions))
            case .takenBack(let partitions):
                if isLost { lose(partitions, &events) } else { revoke(partitions, &events) }
            }
        }
        client.events.group.changes = []
        // The drain took too long.
        if case .revocation(let partitions) = state.pending, isLost { lose(partitions, &events) }
    }

    private func revoke(_ partitions: [TopicPartition], _ events: inout [ConsumerEvent]) {
        let limit = max(
            options.pollMillisecondsMax / 2, options.pollMillisecondsMax - Self.drainMarginMilliseconds)
        state.revoked(partitions)
        client.metrics.rebalanced("revoked")
        events.append(.revoked(partitions, by: lastPoll.advanced(byMilliseconds: limit)))
    }

    private func lose(_ partitions: [TopicPartition], _ events: inout [ConsumerEvent]) {
        state.lost(partitions)
        client.metrics.rebalanced("lost")
        events.append(.lost(partitions))
    }
}
