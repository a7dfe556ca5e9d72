internal import Kafka
internal import Lifecycle
internal import RecordFormat
internal import Telemetry
internal import Topics

// Reading: from records to events.

extension EndpointLoop {
    /// Makes events from the records of the batch.
    func readBatch() {
        guard !batch.isEmpty else { return }
        let startedAt = Instant.now()
        var counts: [WebhookSource: Int] = [:]
        for index in 0..<batch.count {
            if let source = read(batch[index], at: startedAt) { counts[source, default: 0] += 1 }
        }
        for (source, count) in counts { parts.metrics.countRecords(count, of: source) }
        parts.metrics.batchSeconds.observe(Instant.now().seconds(since: startedAt))
        parts.onStep(.batchRead)
    }

    /// Reads one record, and returns its source. Returns nil if its partition is not read any more.
    private func read(_ record: borrowing Kafka.Record, at now: Instant) -> WebhookSource? {
        let partition = TopicPartition(consumer.topics[record.topic], record.partition)
        guard let source = partitions[partition]?.source else { return nil }
        guard let key = record.key, partitions[partition]?.concerns(key: key) == true else {
            partitions[partition]?.skip(record.offset, stampedAt: record.timestamp ?? 0, at: now)
            return source
        }
        let sourceRecord = Self.sourceRecord(from: record, of: source)
        let events = partitions[partition]?.read(sourceRecord, with: reader, at: now)
        add(events ?? [], from: partition)
        return source
    }

    private static func sourceRecord(
        from record: borrowing Kafka.Record, of source: WebhookSource
    ) -> SourceRecord {
        // The value of a dead letter can have megabytes, and no event needs it.
        var copied = SourceRecord(
            offset: record.offset, stamp: record.timestamp ?? 0, key: [UInt8](copying: record.key) ?? [],
            value: source == .deadLetters ? nil : [UInt8](copying: record.value))
        if source == .deadLetters { copied.rejection = rejection(of: record) }
        return copied
    }

    private static func rejection(of record: borrowing Kafka.Record) -> SourceRecord.Rejection? {
        var headers: [(name: String, value: String)] = []
        let list = record.headers
        for index in 0..<list.count {
            let header = list[index]
            headers.append(
                (
                    String(decoding: [UInt8](copying: header.name), as: UTF8.self),
                    String(decoding: [UInt8](copying: header.value) ?? [], as: UTF8.self)
                ))
        }
        return DeadLetter(headers: headers).map { SourceRecord.Rejection(stage: $0.stage, code: $0.code) }
    }

    /// Adds the events whose wait for further records is over. While reading pauses, those records are not read, so the
    /// wait goes on.
    func collectDue(at now: Instant) {
        guard consumer.pausedPartitions.isEmpty else { return }
        for partition in partitions.keys {
            add(partitions[partition]?.collectDue(at: now) ?? [], from: partition)
        }
    }

    private func add(_ events: [WebhookEvent], from partition: TopicPartition) {
        let now = Instant.now()
        for event in events {
            let attempts = partitions[partition]?.cursor.restoredAttempts(of: event.anchor.offset) ?? 0
            queue.add(event, attempts: attempts, at: now)
        }
    }

    /// Pauses the partitions while the queue is full, and resumes them when it has much room.
    func arrangeReading(at now: Instant) {
        let all = Array(partitions.keys)
        if !queue.hasRoom {
            consumer.pause(all)
        } else if queue.hasMuchRoom, !consumer.pausedPartitions.isEmpty {
            consumer.resume(all)
            for partition in all { partitions[partition]?.didResume(at: now) }
        }
    }
}
