internal import CRdKafka
internal import Lifecycle

extension Consumer {
    /// Commits and waits for the answer, at most for the limit.
    package func commit(_ offsets: [OffsetToCommit], withinMilliseconds limit: Int = 5000) -> CommitOutcome {
        let outcome = commitAndWait(offsets, withinMilliseconds: limit)
        client.metrics.countCommit(outcome)
        if outcome == .committed { assignment.confirmOwnership() }
        return outcome
    }

    private func commitAndWait(_ offsets: [OffsetToCommit], withinMilliseconds limit: Int) -> CommitOutcome {
        if isAssignmentLost { return .willBeReadAgain(.assignmentLost) }
        let list = PartitionList(committing: offsets)
        guard let queue = unsafe rd_kafka_queue_new(client.pointer) else { return .willBeReadAgain(.state) }
        defer { unsafe rd_kafka_queue_destroy(queue) }
        // The library calls `onCommit` for every commit without its own callback. This callback is never
        // called: the answer is taken from the queue.
        let requestCode = unsafe KafkaErrorCode(
            rd_kafka_commit_queue(client.pointer, list.pointer, queue, { _, _, _, _ in }, nil))
        guard requestCode == .none else { return CommitOutcome(code: requestCode) }
        guard let event = unsafe rd_kafka_queue_poll(queue, Int32(clamping: limit)) else {
            return .willBeReadAgain(.timedOut)
        }
        defer { unsafe rd_kafka_event_destroy(event) }
        var code = unsafe KafkaErrorCode(rd_kafka_event_error(event))
        if code == .none, let answer = unsafe rd_kafka_event_topic_partition_list(event) {
            code = unsafe PartitionList.firstError(in: answer)?.code ?? .none
        }
        return CommitOutcome(code: code)
    }

    /// Commits without waiting. A later poll returns `.committed`. Returns nil, or the outcome if the commit
    /// could not be requested.
    package func commitAsynchronously(_ offsets: [OffsetToCommit]) -> CommitOutcome? {
        if isAssignmentLost { return .willBeReadAgain(.assignmentLost) }
        let list = PartitionList(committing: offsets)
        let code = unsafe KafkaErrorCode(rd_kafka_commit(client.pointer, list.pointer, 1))
        guard code == .none else { return CommitOutcome(code: code) }
        assignment.recordCommitRequest()
        return nil
    }

    /// Records the outcomes of asynchronous commits and appends them to the events of the poll.
    func takeCommitOutcomes(into events: inout [ConsumerEvent]) {
        for result in client.events.groupEvents.commitResults {
            let outcome = CommitOutcome(code: result.code)
            client.metrics.countCommit(outcome)
            assignment.recordCommitOutcome(outcome)
            events.append(.committed(result.partitions, outcome))
        }
        client.events.groupEvents.commitResults = []
    }

    /// Returns the group's committed offsets. Waits for the answer.
    package func committedOffsets(
        of partitions: [TopicPartition], withinMilliseconds limit: Int = 5000
    ) throws(KafkaError) -> [CommittedOffset] {
        try client.committedOffsets(of: partitions, until: Deadline(milliseconds: limit))
    }

    /// Submits a query without waiting. A later poll returns `.queryCompleted`.
    package func submit(_ query: OffsetQuery) -> OffsetQueryID { client.submit(query) }

    /// Counts offsets that the topic deleted before they were read.
    package func countSkippedOffsets(_ offsets: Int64) { client.metrics.countSkippedOffsets(offsets) }

    /// Returns the offset after the last record that `poll` delivered, or nil before the first one.
    package func position(in partition: TopicPartition) -> Int64? {
        let list = PartitionList([partition])
        let code = unsafe KafkaErrorCode(rd_kafka_position(client.pointer, list.pointer))
        return code == .none && list.offset(at: 0) >= 0 ? list.offset(at: 0) : nil
    }

    /// Returns the offsets of the starts that name one.
    func knownOffsets(of starts: [PartitionStart]) -> [TopicPartition: Int64] {
        var offsets: [TopicPartition: Int64] = [:]
        for start in starts {
            if case .offset(let offset) = start.position { offsets[start.partition] = offset }
        }
        return offsets
    }

    /// Returns the offsets of the starts. Waits for the answer of the cluster if a start is the beginning or the end of
    /// a log. The library must not look it up itself: a late answer would undo a seek (`PositionLookups`).
    func resolveOffsets(
        of starts: [PartitionStart], until deadline: Deadline
    ) throws(KafkaError) -> [TopicPartition: Int64] {
        var offsets = knownOffsets(of: starts)
        let unresolved: [(TopicPartition, milliseconds: Int64)] = starts.compactMap { start in
            switch start.position {
            case .offset: nil
            case .beginning: (start.partition, milliseconds: Int64(RD_KAFKA_OFFSET_BEGINNING))
            case .end: (start.partition, milliseconds: Int64(RD_KAFKA_OFFSET_END))
            }
        }
        if unresolved.isEmpty { return offsets }
        for (partition, offset) in try client.offsets(for: unresolved, until: deadline) {
            offsets[partition] = offset ?? 0
        }
        return offsets
    }

    /// Takes a result for the look-ups of positions. Returns false if the loop has submitted its query.
    func takeLookupResult(
        _ result: OffsetQueryResult, of id: OffsetQueryID, into events: inout [ConsumerEvent]
    ) -> Bool {
        guard let starts = lookups.take(result, of: id, at: .now()) else { return false }
        if case .failed(_, let error) = result { events.append(.failed(.client(error))) }
        do throws(KafkaError) {
            try startFoundPartitions(at: knownOffsets(of: starts))
        } catch {
            for start in starts { lookups.add(start) }
            events.append(.failed(.client(error)))
        }
        return true
    }

    /// Continues at other offsets. Clear batches that hold older records of these partitions.
    package func seek(to starts: [PartitionStart], withinMilliseconds limit: Int = 5000) throws(KafkaError) {
        let deadline = Deadline(milliseconds: limit)
        var offsets = try resolveOffsets(of: starts, until: deadline)
        // The partitions with an open look-up are not in the library's assignment yet, or stand still there.
        var unstarted: [TopicPartition: Int64] = [:]
        for (partition, offset) in offsets {
            let hadLookup = lookups.remove(partition) != nil
            if hadLookup { unstarted[partition] = offset }
        }
        try startFoundPartitions(at: unstarted)
        for partition in unstarted.keys { offsets[partition] = nil }
        if offsets.isEmpty { return }
        try RetryPolicy.retry(until: deadline) { () throws(KafkaError) in
            let list = PartitionList(offsets)
            if let error = unsafe rd_kafka_seek_partitions(
                client.pointer, list.pointer, max(1, deadline.libraryTimeoutMilliseconds))
            {
                defer { unsafe rd_kafka_error_destroy(error) }
                throw KafkaError(action: "seek", code: unsafe KafkaErrorCode(rd_kafka_error_code(error)))
            }
            if let first = list.firstError {
                throw KafkaError(action: "seek in \(first.partition)", code: first.code)
            }
        }
    }

    /// Returns the watermarks. Waits for the leader's answer.
    package func watermarks(
        of partition: TopicPartition, withinMilliseconds limit: Int = 5000
    ) throws(KafkaError) -> Watermarks {
        try client.watermarks(of: partition, until: Deadline(milliseconds: limit))
    }

    /// Returns the watermarks in the answer to the last fetch, or nil before the first one. Sends no request.
    package func knownWatermarks(of partition: TopicPartition) -> Watermarks? {
        client.knownWatermarks(of: partition)
    }

    /// Returns, per partition, the offset of the first record at or after a time, or nil without such a
    /// record.
    package func offsets(
        atMilliseconds time: Int64, in partitions: [TopicPartition], withinMilliseconds limit: Int = 5000
    ) throws(KafkaError) -> [TopicPartition: Int64?] {
        try client.offsets(for: partitions.map { ($0, time) }, until: Deadline(milliseconds: limit))
    }

    /// Returns the cluster's id, or nil if no broker answers in time. Files that hold a topic's records store
    /// it.
    package func clusterID(withinMilliseconds limit: Int = 5000) -> String? {
        client.clusterID(until: Deadline(milliseconds: limit))
    }
}
