internal import CRdKafka

extension Consumer {
    /// Commits and waits for the answer, at most for the limit.
    package func commit(_ offsets: [OffsetToCommit], withinMilliseconds limit: Int = 5000) -> CommitOutcome {
        let outcome = commitCode(offsets, limit)
        client.metrics.committed(outcome)
        if outcome == .committed { state.confirmed() }
        return outcome
    }

    private func commitCode(_ offsets: [OffsetToCommit], _ limit: Int) -> CommitOutcome {
        if isLost { return .willBeReadAgain(.assignmentLost) }
        let list = PartitionList(offsets)
        guard let queue = unsafe rd_kafka_queue_new(client.pointer) else { return .willBeReadAgain(.state) }
        defer { unsafe rd_kafka_queue_destroy(queue) }
        // The library calls `onCommit` for every commit without its own callback. This callback is never
        // called: the answer is taken from the queue.
        let asked = unsafe ErrorCode(
            rd_kafka_commit_queue(client.pointer, list.pointer, queue, { _, _, _, _ in }, nil))
        guard asked == .none else { return CommitOutcome(asked) }
        guard let event = unsafe rd_kafka_queue_poll(queue, Int32(clamping: limit)) else {
            return .willBeReadAgain(.timedOut)
        }
        defer { unsafe rd_kafka_event_destroy(event) }
        var code = unsafe ErrorCode(rd_kafka_event_error(event))
        if code == .none, let answered = unsafe rd_kafka_event_topic_partition_list(event) {
            code = unsafe PartitionList.firstError(answered)?.code ?? .none
        }
        return CommitOutcome(code)
    }

    /// Commits without waiting. A later poll returns `.committed`. Returns nil, or the outcome if the commit
    /// could not be requested.
    package func commitLater(_ offsets: [OffsetToCommit]) -> CommitOutcome? {
        if isLost { return .willBeReadAgain(.assignmentLost) }
        let list = PartitionList(offsets)
        let code = unsafe ErrorCode(rd_kafka_commit(client.pointer, list.pointer, 1))
        guard code == .none else { return CommitOutcome(code) }
        state.commitAsked()
        return nil
    }

    func takeCommits(_ events: inout [ConsumerEvent]) {
        for commit in client.events.group.commits {
            let outcome = CommitOutcome(commit.code)
            client.metrics.committed(outcome)
            state.commitAnswered(outcome)
            events.append(.committed(commit.partitions, outcome))
        }
        client.events.group.commits = []
    }

    /// Returns the group's committed offsets. Waits for the answer.
    package func committed(
        _ partitions: [TopicPartition], withinMilliseconds limit: Int = 5000
    ) throws(KafkaError) -> [CommittedOffset] {
        try client.committed(partitions, Deadline(milliseconds: limit))
    }

    /// Asks without waiting. A later poll returns `.answered`.
    package func ask(_ question: KafkaQuestion) -> QuestionID { client.ask(question) }

    /// Counts offsets that the topic deleted before they were read.
    package func countSkipped(_ offsets: Int64) { client.metrics.skipped(offsets) }

    /// Returns the offset after the last record that `poll` delivered, or nil before the first one.
    package func position(_ partition: TopicPartition) -> Int64? {
        let list = PartitionList([partition])
        let code = unsafe ErrorCode(rd_kafka_position(client.pointer, list.pointer))
        return code == .none && list.offset(0) >= 0 ? list.offset(0) : nil
    }

    /// Replaces each beginning by its offset. The library must not look up a beginning itself if a seek or a
    /// pause can follow. These make its answer outdated; the library then asks again and jumps to the
    /// beginning, past the seek.
    ///
    /// The question waits behind a fetch that is in flight. A caller that returns to a partition often should
    /// ask only once.
    package func resolve(
        _ starts: [PartitionStart], withinMilliseconds limit: Int = 5000
    ) throws(KafkaError) -> [PartitionStart] {
        try resolve(starts, Deadline(milliseconds: limit))
    }

    func resolve(_ starts: [PartitionStart], _ deadline: Deadline) throws(KafkaError) -> [PartitionStart] {
        let open = starts.filter { $0.position == .beginning }
        if open.isEmpty { return starts }
        let beginnings = try client.offsets(
            for: open.map { ($0.partition, milliseconds: Int64(RD_KAFKA_OFFSET_BEGINNING)) }, deadline)
        return starts.map { start in
            guard start.position == .beginning else { return start }
            return PartitionStart(start.partition, .offset((beginnings[start.partition] ?? nil) ?? 0))
        }
    }

    /// Continues at other offsets. Clear batches that hold older records of these partitions.
    package func seek(_ starts: [PartitionStart], withinMilliseconds limit: Int = 5000) throws(KafkaError) {
        let deadline = Deadline(milliseconds: limit)
        let starts = try resolve(starts, deadline)
        try Patience.ask(until: deadline) { () throws(KafkaError) in
            let list = PartitionList(starts)
            if let error = unsafe rd_kafka_seek_partitions(
                client.pointer, list.pointer, max(1, deadline.forCall))
            {
                defer { unsafe rd_kafka_error_destroy(error) }
                throw KafkaError("seek", unsafe ErrorCode(rd_kafka_error_code(error)))
            }
            if let first = list.firstError { throw KafkaError("seek in \(first.partition)", first.code) }
        }
    }

    /// Asks the broker for the first and the end offset.
    package func watermarks(
        of partition: TopicPartition, withinMilliseconds limit: Int = 5000
    ) throws(KafkaError) -> Watermarks {
        try client.watermarks(partition, Deadline(milliseconds: limit))
    }

    /// Returns the offsets of the last fetch, or nil before the first fetch. Sends no request.
    package func knownWatermarks(of partition: TopicPartition) -> Watermarks? {
        var low: Int64 = 0
        var high: Int64 = 0
        let code = unsafe ErrorCode(
            rd_kafka_get_watermark_offsets(client.pointer, partition.topic, partition.partition, &low, &high))
        return code == .none && high >= 0 ? Watermarks(low: max(0, low), high: high) : nil
    }

    /// Returns, per partition, the offset of the first record at or after a time, or nil without such a record.
    package func offsets(
        atMilliseconds time: Int64, _ partitions: [TopicPartition], withinMilliseconds limit: Int = 5000
    ) throws(KafkaError) -> [TopicPartition: Int64?] {
        try client.offsets(for: partitions.map { ($0, time) }, Deadline(milliseconds: limit))
    }

    /// Returns the cluster's id, or nil if no broker answers in time. Files that hold a topic's records store
    /// it.
    package func clusterID(withinMilliseconds limit: Int = 5000) -> String? {
        client.clusterID(Deadline(milliseconds: limit))
    }
}
