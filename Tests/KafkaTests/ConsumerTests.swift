import Glibc
import KafkaTesting
import Lifecycle
import Telemetry
import Testing

@testable import Kafka

// Consumers without a group, on the mock cluster with the topic `jobs`.

/// Writes records whose values are numbers from `first` on.
private func writeRecords(_ count: Int, to cluster: MockCluster, partition: Int32 = 0, from first: Int = 0)
    throws
{
    let producer = try makeProducer(cluster)
    let topic = try producer.topic(named: "jobs")
    var deliveries: [Delivery] = []
    for index in first..<first + count {
        #expect(
            producer.put(
                key: "k", value: "\(index)", to: topic, partition: partition, collecting: &deliveries)
                == .queued)
    }
    #expect(producer.flush(withinMilliseconds: 20_000, into: &deliveries) == 0)
}

@Test func `the end of a partition is reported with its offset`() async throws {
    try await onThread {
        let cluster = try makeCluster(partitions: 1)
        try writeRecords(5, to: cluster)
        let consumer = try makeReader(cluster, partitions: 1)
        var batch = RecordBatch()
        var records: [RecordCopy] = []
        var end: ConsumerEvent?
        #expect(
            try eventually {
                end = end ?? consumer.read(&batch, into: &records).first
                return end != nil
            })
        #expect(end == .reachedEnd(TopicPartition("jobs", 0), offset: 5))
        #expect(records.map(\.value) == (0..<5).map { "\($0)" })
        #expect(consumer.position(in: TopicPartition("jobs", 0)) == 5)
        #expect(try consumer.watermarks(of: TopicPartition("jobs", 0)) == Watermarks(low: 0, high: 5))
        #expect(consumer.knownWatermarks(of: TopicPartition("jobs", 0))?.high == 5)
    }
}

@Test func `a producer asks for ends without waiting behind a consumer's fetches`() async throws {
    try await onThread {
        let cluster = try makeCluster(partitions: 1)
        try writeRecords(5, to: cluster)
        let consumer = try makeReader(cluster, partitions: 1)
        let producer = try makeProducer(cluster)
        let jobs = TopicPartition("jobs", 0)
        #expect(try producer.watermarks(of: jobs) == Watermarks(low: 0, high: 5))
        var batch = RecordBatch()
        #expect(try eventually { !consumer.poll(into: &batch, waitMilliseconds: 10).isEmpty })
        // Now each fetch of the consumer waits for half a second.
        let startedAt = Instant.now()
        for _ in 0..<20 { #expect(try producer.watermarks(of: jobs).high == 5) }
        #expect(Instant.now().milliseconds(since: startedAt) < 5000)
    }
}

@Test func `a batch ends at its limits, and the descriptor stays readable`() async throws {
    try await onThread {
        let cluster = try makeCluster(partitions: 1)
        try writeRecords(25, to: cluster)
        let consumer = try makeReader(cluster, partitions: 1)
        var batch = RecordBatch(recordsMax: 10)
        var sizes: [Int] = []
        var seen: [String] = []
        #expect(
            try eventually {
                var poll = pollfd(fd: consumer.descriptor, events: Int16(POLLIN), revents: 0)
                guard Glibc.poll(&poll, 1, 20_000) == 1 else { return false }
                _ = consumer.poll(into: &batch)
                if !batch.isEmpty { sizes.append(batch.count) }
                for index in 0..<batch.count { seen.append(batch[index].value?.text ?? "") }
                return seen.count == 25
            })
        #expect(sizes.max()! <= 10)
        #expect(seen == (0..<25).map { "\($0)" })

        try consumer.seek(to: [PartitionStart(partition: TopicPartition("jobs", 0), position: .offset(3))])
        var small = RecordBatch(recordsMax: 10, bytesMax: 4)
        #expect(
            try eventually {
                _ = consumer.poll(into: &small, waitMilliseconds: 20)
                return !small.isEmpty
            })
        // A key and a value of one digit are two bytes.
        #expect(small.count <= 2 && small[0].offset == 3)
    }
}

@Test func `a partition that is paused and resumed loses and repeats nothing`() async throws {
    try await onThread {
        let cluster = try makeCluster(partitions: 2)
        try writeRecords(50, to: cluster)
        let consumer = try makeReader(cluster, partitions: 2)
        let first = TopicPartition("jobs", 0)
        var batch = RecordBatch(recordsMax: 7)
        var records: [RecordCopy] = []
        // Resuming a partition that was never paused must not rewind it.
        consumer.resume([first])
        #expect(
            try eventually {
                _ = consumer.read(&batch, into: &records)
                consumer.resume([first])
                return records.count >= 20
            })
        consumer.pause([first, first, TopicPartition("jobs", 9)])
        #expect(consumer.pausedPartitions == [first])
        try writeRecords(30, to: cluster, partition: 1, from: 1000)
        let before = records.filter { $0.partition == 0 }.count
        #expect(
            try eventually {
                _ = consumer.read(&batch, into: &records)
                return records.filter { $0.partition == 1 }.count == 30
            })
        #expect(records.filter { $0.partition == 0 }.count == before)
        consumer.resume([first])
        consumer.resume([first])
        #expect(
            try eventually {
                _ = consumer.read(&batch, into: &records)
                return records.filter { $0.partition == 0 }.count >= 50
            })
        _ = consumer.read(&batch, into: &records)
        #expect(records.filter { $0.partition == 0 }.map(\.offset) == Array(0..<50))
    }
}

@Test func `a partition that was paused is read under the next assignment`() async throws {
    try await onThread {
        let cluster = try makeCluster(partitions: 1)
        try writeRecords(50, to: cluster)
        let consumer = try makeReader(cluster, partitions: 1)
        let start = PartitionStart(partition: TopicPartition("jobs", 0), position: .beginning)
        var batch = RecordBatch()
        for next in ["after a release", "in place of another"] {
            consumer.pause([start.partition])
            if next == "after a release" { try consumer.release() }
            try consumer.assign(startingAt: [start])
            var records: [RecordCopy] = []
            let isRead = try eventually {
                _ = consumer.read(&batch, into: &records)
                return records.count == 50
            }
            #expect(isRead, "\(next)")
        }
    }
}

@Test func `an offset that no longer exists stops the partition with an error for a person`() async throws {
    try await onThread {
        let cluster = try makeCluster(brokers: 1, partitions: 1)
        try writeRecords(3, to: cluster)
        let consumer = try makeReader(cluster, partitions: 1)
        let jobs = TopicPartition("jobs", 0)
        try consumer.assign(startingAt: [PartitionStart(partition: jobs, position: .offset(1000))])
        var batch = RecordBatch()
        var records: [RecordCopy] = []
        var failure: ConsumerFailure?
        #expect(
            try eventually {
                for case .failed(let found) in consumer.read(&batch, into: &records) { failure = found }
                return failure != nil
            })
        guard case .outOfRange(jobs, _) = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
        #expect(failure!.description.contains("decide where to continue"))
        #expect(records.isEmpty)
    }
}

@Test func `a state topic restarts at its beginning if the offset no longer exists`() async throws {
    try await onThread {
        let cluster = try makeCluster(brokers: 1, partitions: 1)
        try writeRecords(3, to: cluster)
        let consumer = try makeReader(cluster, partitions: 1) { $0.outOfRange = .earliest }
        try consumer.assign(startingAt: [
            PartitionStart(partition: TopicPartition("jobs", 0), position: .offset(1000))
        ])
        #expect(try consumer.read(atLeast: 3).map(\.offset) == [0, 1, 2])
    }
}

/// The change of a reader while the offset of its start is looked up.
private enum ChangeDuringLookup: CaseIterable { case assign, seek, releaseAndAssign }

/// This happens to a stage at a new assignment: its views start at their topic's beginning or behind their files.
@Test(arguments: [PartitionStart.Position.beginning, .end], ChangeDuringLookup.allCases)
private func `a late answer about a start does not move a partition that has started elsewhere`(
    position: PartitionStart.Position, change: ChangeDuringLookup
) async throws {
    try await onThread {
        let cluster = try makeCluster(brokers: 1, partitions: 2)
        for partition in 0..<2 { try writeRecords(10, to: cluster, partition: Int32(partition)) }
        var options = ConsumerOptions(membership: .manual)
        options.readsOpenTransactions = true
        let consumer = try Consumer(
            settings: KafkaSettings(cluster), options: options, name: "late", log: .silent, metrics: Metrics()
        )
        let partitions = (0..<2).map { TopicPartition("jobs", $0) }
        // The library knows the leaders, so that it would ask for the offsets at once.
        for partition in partitions { _ = try consumer.watermarks(of: partition) }
        cluster.setRoundTripTime(ofBroker: 1, milliseconds: 200)
        try consumer.assign(startingAt: partitions.map { PartitionStart(partition: $0, position: position) })
        let starts = partitions.map { PartitionStart(partition: $0, position: .offset(5)) }
        switch change {
        case .assign: try consumer.assign(startingAt: starts)
        case .seek: try consumer.seek(to: starts)
        case .releaseAndAssign:
            try consumer.release()
            try consumer.assign(startingAt: starts)
        }
        // Longer than the library waits before it asks again.
        var batch = RecordBatch()
        var records: [RecordCopy] = []
        let end = Instant.now().advanced(byMilliseconds: 3000)
        while Instant.now() < end { _ = consumer.read(&batch, into: &records) }
        #expect(records.count == 10 && records.allSatisfy { $0.offset >= 5 }, "\(records.map(\.offset))")
        #expect(consumer.close())
    }
}

/// Another partition is read meanwhile, and does not start again.
@Test func `a partition starts at its beginning when a leader answers again`() async throws {
    try await onThread {
        let cluster = try makeCluster(brokers: 1, partitions: 2)
        for partition in 0..<2 { try writeRecords(3, to: cluster, partition: Int32(partition)) }
        let consumer = try makeReader(cluster, partitions: 0)
        let refusal = KafkaErrorCode.topicAuthorizationFailed
        cluster.failNext(.listOffsets, with: refusal, refusal)
        try consumer.assign(startingAt: [
            PartitionStart(partition: TopicPartition("jobs", 0), position: .offset(1)),
            PartitionStart(partition: TopicPartition("jobs", 1), position: .beginning),
        ])
        var batch = RecordBatch()
        var records: [RecordCopy] = []
        var failures: [ConsumerFailure] = []
        #expect(
            try eventually {
                for case .failed(let failure) in consumer.read(&batch, into: &records) {
                    failures.append(failure)
                }
                return records.count == 5
            })
        #expect(records.filter { $0.partition == 0 }.map(\.offset) == [1, 2])
        #expect(records.filter { $0.partition == 1 }.map(\.offset) == [0, 1, 2])
        #expect(failures.count == 2)
        #expect(consumer.close())
    }
}

@Test func `records and their batch outlive the consumer`() async throws {
    try await onThread {
        let cluster = try makeCluster(brokers: 1, partitions: 1)
        try writeRecords(3, to: cluster)
        var batch = RecordBatch()
        do {
            let consumer = try makeReader(cluster, partitions: 1)
            #expect(
                try eventually {
                    _ = consumer.poll(into: &batch, waitMilliseconds: 20)
                    return batch.count > 0
                })
            #expect(consumer.close(withinMilliseconds: 5000))
        }
        #expect(batch[0].value?.text == "0")
    }
}

@Test func `a fatal error of a consumer without a group asks for a rebuild`() async throws {
    try await onThread {
        let cluster = try makeCluster(brokers: 1, partitions: 1)
        let consumer = try makeReader(cluster, partitions: 1)
        var batch = RecordBatch()
        var records: [RecordCopy] = []
        KafkaLibraryTestFunctions.raiseFatalError(
            code: KafkaErrorCode.unknownMember.rawValue, in: consumer.client.pointer)
        var failure: ConsumerFailure?
        #expect(
            try eventually {
                for case .failed(let found) in consumer.read(&batch, into: &records) { failure = found }
                return failure != nil
            })
        guard case .unusable(let error) = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
        #expect(error.code == .unknownMember)
    }
}

@Test func `a consumer whose cluster is gone closes within its limit`() async throws {
    try await onThread {
        let cluster = try makeCluster(brokers: 1, partitions: 1)
        var options = ConsumerOptions(membership: .group("closing", instanceID: nil, topics: ["jobs"]))
        options.sessionMilliseconds = 6000
        var consumer: Consumer? = try Consumer(
            settings: KafkaSettings(cluster), options: options, name: "test", log: .silent, metrics: Metrics()
        )
        var batch = RecordBatch()
        var records: [RecordCopy] = []
        #expect(
            try eventually {
                for case .offered(let partitions) in consumer!.read(&batch, into: &records) {
                    try consumer!.assign(
                        startingAt: partitions.map { PartitionStart(partition: $0, position: .beginning) })
                    return true
                }
                return false
            })
        cluster.takeDown(broker: 1)
        let start = Instant.now()
        _ = consumer!.close(withinMilliseconds: 1000)
        consumer = nil
        #expect(Instant.now().milliseconds(since: start) < 1000 + KafkaClient.destroyMillisecondsMax)
    }
}

@Test func `one wait for two consumers ends when either has events`() async throws {
    try await onThread {
        let cluster = try makeCluster(brokers: 1, partitions: 1)
        cluster.createTopic(named: "other", partitions: 1)
        let readers = [
            try makeReader(cluster, partitions: 1), try makeReader(cluster, topic: "other", partitions: 1),
        ]
        let descriptors = readers.map(\.descriptor)
        var batch = RecordBatch()
        // Each reader gets the end of its topic. Then no events follow.
        let isQuiet = try eventually {
            for reader in readers { _ = reader.poll(into: &batch) }
            return !Consumer.wait(forAnyOf: descriptors, milliseconds: 1000)
        }
        #expect(isQuiet)
        let producer = try makeProducer(cluster)
        var deliveries: [Delivery] = []
        let topic = try producer.topic(named: "other")
        #expect(
            producer.put(key: "k", value: "v", to: topic, partition: 0, collecting: &deliveries) == .queued)
        #expect(Consumer.wait(forAnyOf: descriptors, milliseconds: 20_000))
        let hasCome = try eventually {
            _ = readers[1].poll(into: &batch)
            return !batch.isEmpty
        }
        #expect(hasCome)
        batch.clear()
        #expect(producer.flush(withinMilliseconds: 20_000, into: &deliveries) == 0)
    }
}

/// The library stops reading a partition a moment after the call. A second stop in that moment ended the
/// process. A process that wakes after a suspension starts over twice within a millisecond.
@Test func `an assignment may be replaced while the library still releases the previous one`() async throws {
    try await onThread {
        let partitions: Int32 = 40
        let cluster = try makeCluster(partitions: Int(partitions))
        let consumer = try makeReader(cluster, partitions: Int(partitions))
        let starts = (0..<partitions).map {
            PartitionStart(partition: TopicPartition("jobs", $0), position: .beginning)
        }
        for round in 0..<50 {
            try consumer.assign(startingAt: starts)
            if round % 7 == 0 { try consumer.release() }
        }
        try writeRecords(1, to: cluster)
        try consumer.assign(startingAt: starts)
        var batch = RecordBatch()
        var records: [RecordCopy] = []
        #expect(
            try eventually {
                _ = consumer.read(&batch, into: &records)
                return !records.isEmpty
            })
    }
}
