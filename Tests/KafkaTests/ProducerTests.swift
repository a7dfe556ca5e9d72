import Glibc
import KafkaTesting
import Lifecycle
import Telemetry
import Testing

@testable import Kafka

// The producer without transactions, on the mock cluster. `put` sends a record, and `flush` waits for its delivery and
// returns the number of records that are still outstanding.

@Test func `every record has one delivery with its tag`() throws {
    let cluster = try makeCluster()
    let producer = try makeProducer(cluster)
    let topic = try producer.topic(named: "jobs")
    var deliveries: [Delivery] = []
    for tag in 1...2000 as ClosedRange<UInt64> {
        #expect(
            producer.put(key: "k\(tag)", value: "v", to: topic, tag: tag, collecting: &deliveries) == .queued)
    }
    #expect(producer.flush(withinMilliseconds: 20_000, into: &deliveries) == 0)
    #expect(deliveries.map(\.tag).sorted() == Array(1...2000))
    #expect(deliveries.allSatisfy { $0.isStored })
    #expect(producer.outstandingRecords == 0)
}

@Test func `a full queue refuses a record and accepts it after the queue has drained`() throws {
    let cluster = try makeCluster(brokers: 1)
    let producer = try makeProducer(cluster) { $0.queueRecordsMax = 100 }
    let topic = try producer.topic(named: "jobs")
    cluster.takeDown(broker: 1)
    var deliveries: [Delivery] = []
    var queued = 0
    while producer.send(to: topic, partition: 0, key: nil, value: nil, tag: 1) == .queued { queued += 1 }
    #expect(queued == 100)
    #expect(producer.send(to: topic, partition: 0, key: nil, value: nil, tag: 2) == .full)
    cluster.bringUp(broker: 1)
    #expect(
        producer.put(key: nil, value: "late", to: topic, partition: 0, tag: 2, collecting: &deliveries)
            == .queued)
    #expect(producer.flush(withinMilliseconds: 20_000, into: &deliveries) == 0)
    #expect(deliveries.count == 101 && deliveries.allSatisfy { $0.isStored })
}

@Test func `a flush without a cluster ends at its limit and returns the number of outstanding records`()
    throws
{
    let cluster = try makeCluster(brokers: 1)
    let producer = try makeProducer(cluster)
    let topic = try producer.topic(named: "jobs")
    cluster.takeDown(broker: 1)
    #expect(producer.send(to: topic, partition: 0, key: nil, value: nil, tag: 1) == .queued)
    var deliveries: [Delivery] = []
    let start = Instant.now()
    #expect(producer.flush(withinMilliseconds: 200, into: &deliveries) == 1)
    #expect(Instant.now().milliseconds(since: start) < 2000)
}

@Test func `a record that no broker acknowledges in time fails with a timeout`() throws {
    let cluster = try makeCluster(brokers: 1)
    let producer = try makeProducer(cluster) { $0.deliveryMillisecondsMax = 300 }
    let topic = try producer.topic(named: "jobs")
    cluster.takeDown(broker: 1)
    #expect(producer.send(to: topic, partition: 0, key: nil, value: nil, tag: 9) == .queued)
    var deliveries: [Delivery] = []
    #expect(
        try eventually {
            _ = producer.collectDeliveries(into: &deliveries, waitMilliseconds: 50)
            return !deliveries.isEmpty
        })
    #expect(deliveries[0].tag == 9)
    #expect(deliveries[0].outcome == .notStored(.messageTimedOut))
}

/// The mock keeps no sequence numbers, so it stores a batch twice if the answer was lost.
/// `StrayingLeaderTests` and the conformance run test duplicates on brokers that keep them.
@Test func `brokers that stop and return lose no records`() throws {
    let cluster = try makeCluster()
    let producer = try makeProducer(cluster)
    let topic = try producer.topic(named: "jobs")
    var deliveries: [Delivery] = []
    for round in 0..<6 as Range<Int32> {
        let broker = round % 3 + 1
        cluster.takeDown(broker: broker)
        for index in 0..<50 {
            let result = producer.put(
                key: "\(round)", value: "\(round)-\(index)", to: topic, partition: Int32(index % 4),
                collecting: &deliveries)
            #expect(result == .queued)
        }
        _ = producer.collectDeliveries(into: &deliveries, waitMilliseconds: 20)
        cluster.bringUp(broker: broker)
    }
    #expect(producer.flush(withinMilliseconds: 30_000, into: &deliveries) == 0)
    #expect(deliveries.count == 300 && deliveries.allSatisfy { $0.isStored })
    let reader = try makeReader(cluster)
    var values: Set<String> = []
    while values.count < 300 {
        let more = try reader.read(atLeast: 300 - values.count)
        guard !more.isEmpty else { break }
        values.formUnion(more.compactMap(\.value))
    }
    #expect(values.count == 300)
}

@Test func `retriable errors of a broker stay inside the client`() throws {
    let cluster = try makeCluster(brokers: 1)
    let producer = try makeProducer(cluster)
    let topic = try producer.topic(named: "jobs")
    cluster.failNext(.produce, with: .notLeader, .requestTimedOut, .notEnoughReplicas)
    var deliveries: [Delivery] = []
    #expect(producer.put(key: nil, value: "x", to: topic, partition: 0, collecting: &deliveries) == .queued)
    #expect(producer.flush(withinMilliseconds: 20_000, into: &deliveries) == 0)
    #expect(deliveries.count == 1 && deliveries[0].isStored)
}

@Test func `a record that is too large for the broker is not stored, but the next one is`() throws {
    let cluster = try makeCluster(brokers: 1)
    let producer = try makeProducer(cluster)
    let topic = try producer.topic(named: "jobs")
    cluster.failNext(.produce, with: .recordTooLarge)
    var deliveries: [Delivery] = []
    #expect(
        producer.put(key: nil, value: "large", to: topic, partition: 0, tag: 1, collecting: &deliveries)
            == .queued)
    #expect(producer.flush(withinMilliseconds: 20_000, into: &deliveries) == 0)
    #expect(deliveries.map(\.outcome) == [.notStored(.recordTooLarge)])
    #expect(
        producer.put(key: nil, value: "small", to: topic, partition: 0, tag: 2, collecting: &deliveries)
            == .queued)
    #expect(producer.flush(withinMilliseconds: 20_000, into: &deliveries) == 0)
    #expect(deliveries.last?.isStored == true)
}

@Test func `a fatal error asks for a rebuild, and a new producer continues`() throws {
    let cluster = try makeCluster(brokers: 1)
    var deliveries: [Delivery] = []
    do {
        let producer = try makeProducer(cluster)
        let topic = try producer.topic(named: "jobs")
        #expect(producer.fatalError == nil)
        KafkaLibraryTestFunctions.raiseFatalError(
            code: KafkaErrorCode.outOfOrderSequence.rawValue, in: producer.client.pointer)
        #expect(producer.send(to: topic, key: nil, value: nil, tag: 1) == .unusable(.fatal))
        #expect(producer.fatalError?.code == .outOfOrderSequence)
        _ = producer.collectDeliveries(into: &deliveries)
    }
    let producer = try makeProducer(cluster)
    let topic = try producer.topic(named: "jobs")
    #expect(producer.put(key: nil, value: "x", to: topic, collecting: &deliveries) == .queued)
    #expect(producer.flush(withinMilliseconds: 20_000, into: &deliveries) == 0)
    #expect(deliveries.last?.isStored == true)
}

@Test func `the descriptor wakes an epoll loop for deliveries and is silent after they are collected`()
    throws
{
    let cluster = try makeCluster(brokers: 1)
    let producer = try makeProducer(cluster)
    let topic = try producer.topic(named: "jobs")
    var deliveries: [Delivery] = []
    _ = producer.collectDeliveries(into: &deliveries)
    for round in 1...3 {
        #expect(
            producer.put(key: nil, value: "x", to: topic, partition: 0, collecting: &deliveries) == .queued)
        #expect(
            try eventually {
                var poll = pollfd(fd: producer.descriptor, events: Int16(POLLIN), revents: 0)
                guard Glibc.poll(&poll, 1, 20_000) == 1 else { return false }
                while producer.collectDeliveries(into: &deliveries) {}
                return deliveries.count == round
            })
        var poll = pollfd(fd: producer.descriptor, events: Int16(POLLIN), revents: 0)
        #expect(Glibc.poll(&poll, 1, 0) == 0)
    }
}

@Test func `each setting that the client refuses is reported in one sentence`() throws {
    var settings = KafkaSettings(brokers: ["127.0.0.1:1"])
    settings.properties = ["no.such.thing": "secret-1", "socket.timeout.ms": "secret-2"]
    let error = #expect(throws: ConfigurationError.self) {
        try Producer(settings: settings, name: "test", log: .silent, metrics: Metrics())
    }
    #expect(
        error?.problems == [
            "kafka.properties sets no.such.thing, which the kafka client does not know; remove it",
            "kafka.properties sets socket.timeout.ms to a value that the kafka client does not allow",
        ])
}

@Test func `an invalid certificate authority file is reported in one sentence, each time`() throws {
    var settings = KafkaSettings(brokers: ["127.0.0.1:1"])
    settings.security = .tls
    settings.certificateAuthorityFile = "/etc/hostname"
    for _ in 0..<50 {
        let error = #expect(throws: ConfigurationError.self) {
            try Producer(settings: settings, name: "test", log: .silent, metrics: Metrics())
        }
        #expect(error?.problems.count == 1)
        #expect(error?.description.hasPrefix("cannot make a kafka client: ssl.ca.location failed") == true)
    }
}
