import KafkaTesting
import Lifecycle
import Telemetry
import Testing

@testable import Kafka

/// Writes records to a topic of the mock cluster, with the numbers of `numbers` as values.
private func write(
    _ numbers: Range<Int>, to topicName: String, of cluster: MockCluster, partition: Int32 = 0,
    padding: Int = 0
) throws {
    let producer = try makeProducer(cluster)
    let topic = try producer.topic(named: topicName)
    var deliveries: [Delivery] = []
    let tail = padding == 0 ? "" : " " + String(repeating: "x", count: padding)
    for number in numbers {
        #expect(
            producer.put(
                key: "k", value: "\(number)\(tail)", to: topic, partition: partition, collecting: &deliveries)
                == .queued)
    }
    #expect(producer.flush(withinMilliseconds: 20_000, into: &deliveries) == 0)
}

/// A mock cluster with topics, and the readers of one process.
private struct Fixture {
    let mock: MockCluster
    let cluster: Cluster

    init(topics: [String], partitions: Int = 1) throws {
        mock = try #require(MockCluster(brokers: 1))
        for topic in topics { mock.createTopic(named: topic, partitions: partitions) }
        cluster = Cluster(settings: KafkaSettings(mock))
    }

    func makeReader(
        of topic: String, outOfRange: ConsumerOptions.OutOfRangePolicy = .error
    ) throws -> PartitionReader {
        try cluster.makeReader(of: topic, outOfRange: outOfRange, log: .silent, metrics: Metrics())
    }
}

extension PartitionReader {
    /// Polls once. Appends the numbers of the records, and returns the other events.
    fileprivate func read(into numbers: inout [Int]) -> [ConsumerEvent] {
        var batch = RecordBatch(recordsMax: 100)
        let events = poll(into: &batch, waitMilliseconds: 10)
        for index in 0..<batch.count {
            let number = batch[index].value?.text.split(separator: " ").first.flatMap { Int($0) }
            numbers.append(number ?? -1)
        }
        return events
    }

    fileprivate func assign(at position: PartitionStart.Position) {
        assign(startingAt: [PartitionStart(partition: TopicPartition(topic, 0), position: position)])
    }
}

@Suite(.timeLimit(.minutes(5))) struct PartitionReaderTests {
    @Test func `readers of different topics share a client, and readers of one topic do not`() async throws {
        try await onThread {
            let fixture = try Fixture(topics: ["a", "b"])
            try write(0..<5, to: "a", of: fixture.mock)
            try write(10..<13, to: "b", of: fixture.mock)
            let (a, b) = (try fixture.makeReader(of: "a"), try fixture.makeReader(of: "b"))
            #expect(fixture.cluster.readers.clientCount == 1)
            a.assign(at: .beginning)
            b.assign(at: .beginning)
            var (numbersOfA, numbersOfB): ([Int], [Int]) = ([], [])
            var ends: [ConsumerEvent] = []
            #expect(
                try eventually {
                    ends += a.read(into: &numbersOfA) + b.read(into: &numbersOfB)
                    return ends.count == 2
                })
            #expect(numbersOfA == Array(0..<5) && numbersOfB == Array(10..<13))
            #expect(ends.contains(.reachedEnd(TopicPartition("a", 0), offset: 5)))
            #expect(ends.contains(.reachedEnd(TopicPartition("b", 0), offset: 3)))
            #expect(a.knownWatermarks(of: TopicPartition("a", 0))?.high == 5)

            var other: PartitionReader? = try fixture.makeReader(of: "a")
            #expect(fixture.cluster.readers.clientCount == 2)
            other?.assign(at: .beginning)
            var numbersOfOther: [Int] = []
            #expect(
                try eventually {
                    _ = other?.read(into: &numbersOfOther)
                    return numbersOfOther.count == 5
                })
            other = nil
            #expect(fixture.cluster.readers.clientCount == 1)
        }
    }

    @Test func `a reader that does not poll holds up no other, and loses nothing`() async throws {
        try await onThread {
            let fixture = try Fixture(topics: ["slow", "quick"], partitions: 4)
            // More than the client fetches ahead for a reader.
            for partition in 0..<Int32(4) {
                try write(0..<400, to: "slow", of: fixture.mock, partition: partition, padding: 10_000)
            }
            let (slow, quick) = (try fixture.makeReader(of: "slow"), try fixture.makeReader(of: "quick"))
            slow.assign(
                startingAt: (0..<4).map {
                    PartitionStart(partition: TopicPartition("slow", $0), position: .offset(0))
                })
            quick.assign(at: .beginning)
            var numbers: [Int] = []
            for step in 0..<10 {
                try write(step * 10..<step * 10 + 10, to: "quick", of: fixture.mock)
                #expect(
                    try eventually {
                        _ = quick.read(into: &numbers)
                        return numbers.count == step * 10 + 10
                    })
            }
            #expect(numbers == Array(0..<100))
            // A poll of quick, after a time in which slow has not polled, parks the partitions of slow.
            let silence = ReaderClient.parkAfterMilliseconds + 1000
            quick.client.recordPoll(
                of: ObjectIdentifier(quick), at: Instant.now().advanced(byMilliseconds: silence))
            #expect(quick.client.parkedCount == 1)
            var slowNumbers: [Int] = []
            #expect(
                try eventually(within: 60_000) {
                    _ = slow.read(into: &slowNumbers)
                    return slowNumbers.count >= 1600
                })
            #expect(quick.client.parkedCount == 0)
            // Each number is in all four partitions.
            #expect(slowNumbers.sorted() == (0..<1600).map { $0 / 4 })
        }
    }

    @Test func `a paused partition delivers nothing, and continues where it stopped`() async throws {
        try await onThread {
            let fixture = try Fixture(topics: ["a", "b"])
            let (reader, other) = (try fixture.makeReader(of: "a"), try fixture.makeReader(of: "b"))
            reader.assign(at: .beginning)
            other.assign(at: .beginning)
            let partition = TopicPartition("a", 0)
            // A pause before the beginning is known.
            reader.pause([partition])
            // More than one batch, so that records are left at the second pause.
            try write(0..<150, to: "a", of: fixture.mock)
            try write(0..<5, to: "b", of: fixture.mock)
            var (numbers, others): ([Int], [Int]) = ([], [])
            #expect(
                try eventually {
                    _ = reader.read(into: &numbers)
                    _ = other.read(into: &others)
                    return others.count == 5
                })
            #expect(numbers.isEmpty)
            reader.resume([partition])
            #expect(
                try eventually {
                    _ = reader.read(into: &numbers)
                    return !numbers.isEmpty
                })
            reader.pause([partition])
            let countAtPause = numbers.count
            try write(5..<10, to: "b", of: fixture.mock)
            #expect(
                try eventually {
                    _ = reader.read(into: &numbers)
                    _ = other.read(into: &others)
                    return others.count == 10
                })
            #expect(numbers.count == countAtPause)
            reader.resume([partition])
            #expect(
                try eventually {
                    _ = reader.read(into: &numbers)
                    return numbers.count >= 150
                })
            #expect(numbers == Array(0..<150))
        }
    }

    @Test func `a late answer about the beginning does not move a partition that started elsewhere`()
        async throws
    {
        try await onThread {
            let fixture = try Fixture(topics: ["a"])
            try write(0..<20, to: "a", of: fixture.mock)
            let reader = try fixture.makeReader(of: "a")
            // The connection is open before answers are delayed.
            _ = try reader.watermarks(of: TopicPartition("a", 0))
            fixture.mock.setRoundTripTime(milliseconds: 500)
            reader.assign(at: .beginning)
            reader.assign(at: .offset(7))
            var numbers: [Int] = []
            var events: [ConsumerEvent] = []
            // The late answer to the look-up arrives as the result of a query for which no caller waits.
            #expect(
                try eventually {
                    events += reader.read(into: &numbers)
                    let hasAnswer = events.contains { if case .queryCompleted = $0 { true } else { false } }
                    return hasAnswer && numbers.count >= 13
                })
            fixture.mock.setRoundTripTime(milliseconds: 0)
            try write(20..<25, to: "a", of: fixture.mock)
            #expect(
                try eventually {
                    _ = reader.read(into: &numbers)
                    return numbers.last == 24
                })
            #expect(numbers == Array(7..<25))
        }
    }

    @Test func `a reader of a compacted topic continues at the beginning if its offset does not exist`()
        async throws
    {
        try await onThread {
            let fixture = try Fixture(topics: ["a", "b"])
            for topic in ["a", "b"] { try write(0..<5, to: topic, of: fixture.mock) }
            let (strict, lenient) = (
                try fixture.makeReader(of: "a"), try fixture.makeReader(of: "b", outOfRange: .earliest)
            )
            strict.assign(at: .offset(1000))
            lenient.assign(at: .offset(1000))
            var numbers: [Int] = []
            var failures: [ConsumerFailure] = []
            #expect(
                try eventually {
                    _ = lenient.read(into: &numbers)
                    for case .failed(let failure) in strict.read(into: &numbers) { failures.append(failure) }
                    return numbers.count == 5 && !failures.isEmpty
                })
            #expect(numbers == Array(0..<5))
            guard case .outOfRange(TopicPartition("a", 0), _) = failures[0] else {
                Issue.record("\(failures)")
                return
            }
        }
    }

    @Test func `partitions that a reader gives back can be read by the next one`() async throws {
        try await onThread {
            let fixture = try Fixture(topics: ["a"])
            try write(0..<50, to: "a", of: fixture.mock)
            for _ in 0..<20 {
                let reader = try fixture.makeReader(of: "a")
                reader.assign(at: .offset(10))
                var numbers: [Int] = []
                #expect(
                    try eventually {
                        _ = reader.read(into: &numbers)
                        return !numbers.isEmpty
                    })
                #expect(numbers.first == 10)
                reader.release()
                #expect(reader.read(into: &numbers).isEmpty)
                #expect(fixture.cluster.readers.clientCount == 1)
            }
        }
    }
}
