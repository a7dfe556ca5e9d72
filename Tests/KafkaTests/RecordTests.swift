import KafkaTesting
import Telemetry
import Testing

@testable import Kafka

// Keys, values and headers of records, through a cluster and back.

@Test func `null, empty and non-empty keys, values and headers stay distinct`() throws {
    let cluster = try makeCluster(partitions: 1)
    let producer = try makeProducer(cluster)
    let topic = try producer.topic(named: "jobs")
    let empty: [UInt8] = []
    let full = Array("x".utf8)
    for (key, value) in [(nil, nil), (empty, nil), (full, nil), (nil, empty), (nil, full), (empty, empty)] {
        var headers = RecordHeaders()
        headers.add("null", value: nil)
        headers.add("empty", value: empty.span)
        headers.add("full", value: full.span)
        headers.add("full", value: nil)
        #expect(
            producer.send(
                to: topic, partition: 0, key: key?.span, value: value?.span, headers: &headers, tag: 0)
                == .queued)
    }
    #expect(producer.send(to: topic, partition: 0, key: nil, value: nil, tag: 0) == .queued)
    var deliveries: [Delivery] = []
    #expect(producer.flush(withinMilliseconds: 20_000, into: &deliveries) == 0)

    let records = try makeReader(cluster, partitions: 1).read(atLeast: 7)
    #expect(records.map(\.key) == [nil, "", "x", nil, nil, "", nil])
    #expect(records.map(\.value) == [nil, nil, nil, "", "x", "", nil])
    #expect(records[0].headers == ["null=<null>", "empty=", "full=x", "full=<null>"])
    #expect(records[6].headers == [])
}

@Test func `the last header of a name counts`() throws {
    let cluster = try makeCluster(brokers: 1, partitions: 1)
    let producer = try makeProducer(cluster)
    let topic = try producer.topic(named: "jobs")
    var shared = RecordHeaders()
    shared.add("apns-topic", value: Array("a".utf8).span)
    var headers = shared.copy()
    headers.add("apns-topic", value: Array("b".utf8).span)
    headers.add(named: Array("caf\u{E9}".utf8).span, value: nil)
    #expect(producer.send(to: topic, key: nil, value: nil, headers: &headers, tag: 1) == .queued)
    var deliveries: [Delivery] = []
    #expect(producer.flush(withinMilliseconds: 20_000, into: &deliveries) == 0)

    let consumer = try makeReader(cluster, partitions: 1)
    var batch = RecordBatch()
    #expect(
        try eventually {
            _ = consumer.poll(into: &batch, waitMilliseconds: 20)
            return batch.count == 1
        })
    let record = batch[0]
    #expect(record.headers.count == 3)
    #expect(record.headers.last(named: "apns-topic")?.value?.text == "b")
    #expect(record.headers.last(named: "caf\u{E9}")?.name.text == "caf\u{E9}")
    if record.headers.last(named: "absent") != nil { Issue.record("a header exists that was not sent") }
    #expect(record.timestamp ?? 0 > 1_600_000_000_000)
    #expect(consumer.topics[record.topic] == "jobs")
}

@Test func `the caller keeps the headers of a record that was not queued`() throws {
    let cluster = try makeCluster(brokers: 1, partitions: 1)
    let producer = try makeProducer(cluster) { $0.recordBytesMax = 2000 }
    let topic = try producer.topic(named: "jobs")
    var headers = RecordHeaders()
    headers.add("a", value: Array("b".utf8).span)
    let large = [UInt8](repeating: 1, count: 3000)
    #expect(
        producer.send(to: topic, key: nil, value: large.span, headers: &headers, tag: 0)
            == .refused(.recordTooLarge))
    #expect(producer.send(to: topic, key: nil, value: nil, headers: &headers, tag: 0) == .queued)
    let records = try makeReader(cluster, partitions: 1).read(atLeast: 1)
    #expect(records.first?.headers == ["a=b"])
}

@Test func `a topic whose name is not UTF-8 is listed and read without a trap`() throws {
    let cluster = try makeCluster(brokers: 1, partitions: 1)
    cluster.createTopic(nameBytes: [0x61, 0xFF, 0xFE, 0x62], partitions: 1)
    let admin = try AdminClient(settings: KafkaSettings(cluster), log: .silent, metrics: Metrics())
    #expect(
        try eventually { try admin.topics().map(\.name).sorted() == ["a\u{FFFD}\u{FFFD}b", "jobs"] })
    cluster.setError(ofTopic: "jobs", code: KafkaErrorCode.unknownTopicOrPartition.rawValue)
    let error = #expect(throws: KafkaError.self) { try admin.describe("jobs") }
    #expect(error?.code == .unknownTopicOrPartition)
}

@Test func `the lane of a key is the partition that the library chooses`() throws {
    var bytes: [UInt8] = []
    for index in 0..<300 {
        #expect(
            Int32(Murmur2.partition(forKey: bytes.span, partitionCount: 12))
                == KafkaLibraryTestFunctions.murmur2Partition(forKey: bytes, partitionCount: 12))
        bytes.append(UInt8(truncatingIfNeeded: index &* 167 &+ 13))
    }
    let cluster = try makeCluster(brokers: 1)
    let producer = try makeProducer(cluster)
    let topic = try producer.topic(named: "jobs")
    var deliveries: [Delivery] = []
    for index in 0..<100 {
        #expect(
            producer.put(key: "app/u:\(index)", value: "x", to: topic, collecting: &deliveries) == .queued)
    }
    #expect(producer.flush(withinMilliseconds: 20_000, into: &deliveries) == 0)
    let records = try makeReader(cluster).read(atLeast: 100)
    #expect(records.count == 100)
    for record in records {
        #expect(Int(record.partition) == Murmur2.partition(forKey: record.key!.utf8.span, partitionCount: 4))
    }
}
