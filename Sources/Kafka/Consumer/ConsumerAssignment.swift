internal import CRdKafka
package import Lifecycle

extension Consumer {
    /// Kept back from the longest time between polls, so that a drain that takes all it was given
    /// is still in time.
    package static let drainMarginMilliseconds = 5000

    /// Kept back from the session's time: a member counts as stopped a little before the group thinks so.
    package static let leaseMarginMilliseconds = 2000

    /// Which assignment the records of the next poll belong to.
    package var epoch: Int { state.epoch }
    package var partitions: Set<TopicPartition> { state.partitions }
    package var paused: Set<TopicPartition> { state.paused }

    /// The library knows that the group has taken our partitions.
    package var isLost: Bool { unsafe rd_kafka_assignment_lost(client.pointer) != 0 }

    /// Whether effects on the outside are still safe: a process that was stopped for a while may not
    /// know yet that its partitions are another's. Right after it wakes the library does not either,
    /// so that a stop is forgotten only when a later commit has succeeded.
    package func isSurelyOurs(at now: Instant) -> Bool {
        let age = now.milliseconds(since: lastPoll)
        return age < options.sessionMilliseconds - Self.leaseMarginMilliseconds && !state.isSuspect && !isLost
            && !isEnded
    }

    /// Who we are in the group, for a transaction about to begin over work that was read in `epoch`.
    /// Nil when that work is no longer ours: drop it. Capturing first and checking then is the rule;
    /// the other order lets a woken process commit old work under its new generation.
    package func captureGroup(forEpoch epoch: Int) -> GroupMetadata? {
        guard let pointer = unsafe rd_kafka_consumer_group_metadata(client.pointer) else { return nil }
        let group = unsafe GroupMetadata(pointer, epoch: epoch)
        return epoch == state.epoch && !isLost ? group : nil
    }

    /// How long an assignment without a group may wait for the cluster to say where its topics are.
    private static let describeMilliseconds = 1000

    /// Begins reading: the answer to an offer, or at any time without a group. A member that does not learn in time
    /// where a beginning is has not answered, and may try again.
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

    /// As `assign`, from the group's committed offsets; where there is none, from the beginning.
    package func assignFromCommitted(
        _ partitions: [TopicPartition], withinMilliseconds limit: Int = 5000
    ) throws(KafkaError) {
        try assign(committed(partitions, withinMilliseconds: limit).map(\.start))
    }

    /// Answers an offer before it is known where each partition begins. The group waits for the answer to its offer, so
    /// the library gets an empty assignment. `begin` gives it the partitions.
    package func hold(_ partitions: [TopicPartition]) throws(KafkaError) {
        if isEnded { throw KafkaError("assign partitions", .state) }
        let none = PartitionList([TopicPartition]())
        try unsafe replaceAssignment(none.pointer)
        letGo()
        state.assigned(partitions)
        _ = state.pause(partitions)
    }

    /// Begins partitions that are held, or begins them anew. Those that are paused stay paused. Clear batches that hold
    /// records of these partitions: they come again.
    ///
    /// The library stops a partition for good when its offset is out of range. Only a new beginning makes it move again.
    package func begin(_ starts: [PartitionStart]) throws(KafkaError) {
        if isEnded { throw KafkaError("begin partitions", .state) }
        let paused = state.paused
        let list = PartitionList(starts)
        try unsafe replaceAssignment(list.pointer)
        letGo()
        pause(Array(paused))
    }

    /// Lets the partitions go: the answer to a revocation or a loss.
    package func release() throws(KafkaError) {
        // A client that is at its end has no assignment any more.
        if isEnded { return state.released() }
        try unsafe replaceAssignment(nil)
        letGo()
        state.released()
    }

    /// The last answer, to a consumer that closes: behind it the library may answer nothing more, no question about
    /// its assignment and no call that ends a pause. An offer is not answered at all: the library does not wait for it,
    /// and an answer that comes when it is through would wait for ever.
    func answerAtClose() {
        let isTakenBack = client.events.group.changes.contains {
            if case .takenBack = $0 { true } else { false }
        }
        client.events.group.changes = []
        guard isTakenBack else { return }
        _ = unsafe rd_kafka_assign(client.pointer, nil)
        state.released()
    }

    /// A member has heard of its topics when it joined. Without a group the library would begin to read
    /// half a second later: so long it waits when it does not know the leader yet. Best effort: it finds
    /// out by itself, too.
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
        // A pause outlives its assignment inside the library.
        resume(Array(state.paused))
        let code = unsafe ErrorCode(rd_kafka_assign(client.pointer, list))
        guard code == .none else { throw KafkaError("change the assignment", code) }
        forgetAddresses()
    }

    /// Waits until the library has let go of the assignment before. Its thread hears of each partition that it is to
    /// stop reading it, behind the call that said so, and behind that, that it has; a partition that is told to stop
    /// twice in between ends the process (librdkafka issue 5573). Two questions, one after the other, stand behind both.
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

    /// Stops delivering these partitions' records; the membership goes on. What is not ours, or is
    /// paused already, is left alone.
    package func pause(_ partitions: [TopicPartition]) {
        let fresh = state.pause(partitions)
        if fresh.isEmpty { return }
        let list = PartitionList(fresh)
        _ = unsafe rd_kafka_pause_partitions(client.pointer, list.pointer)
    }

    /// Goes on with partitions that are paused, and only with those.
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
        // A drain that took too long.
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
