import Glibc
import IngestTesting
import Kafka
import KafkaTesting
import Lifecycle
import ProcessTesting
import Telemetry
import Testing
import Topics

@testable import Sender

/// Tests of the reader of `receipts`. Before a sender pushes the jobs of a lane, this reader reads the lane's receipts
/// up to the end that the partition has at that time, and reports that end. It must survive deleted records and an
/// unknown end.
@Suite(.timeLimit(.minutes(5))) struct ReceiptsReaderTests {
    @Test func `a reader of receipts that has reached the end does not wake up for new receipts`()
        async throws
    {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 1)
        let receipts = try RecordWriter(on: bed, to: .receipts)
        func writeReceipts(count: Int) {
            for _ in 0..<count { receipts.write(key: nil, value: Array("{}".utf8), partition: 0) }
            #expect(receipts.finish())
        }
        writeReceipts(count: 1)
        let topicReader = try Cluster(settings: bed.settings).makeReader(
            of: bed.layout.name(of: .receipts), log: .silent, metrics: Metrics())
        let reader = ReceiptsReader(topicReader, log: .silent)
        defer { reader.close() }
        var end: Int64?
        func poll() throws { _ = try reader.poll(at: .now(), { _, _ in }, end: { end = $1 }) }
        reader.read(lane: 0, from: 0)
        try await eventually("the reader is at the end") {
            try poll()
            return end != nil
        }
        #expect(end == 1)
        writeReceipts(count: 1_000)
        // For 2 s, which is longer than a fetch waits.
        var wakeups = 0
        for _ in 0..<20 where isReadable(reader.descriptor, withinMilliseconds: 100) {
            wakeups += 1
            try poll()
        }
        #expect(wakeups < 10)
    }

    /// A mock cluster that fails on request, with the two receipts of lane 0, and a reader.
    private struct MockReceipts {
        let cluster: MockCluster
        let reader: ReceiptsReader

        init() throws {
            cluster = try #require(MockCluster(brokers: 1))
            cluster.createTopic(named: "receipts", partitions: 1)
            let settings = KafkaSettings(brokers: cluster.brokers)
            let producer = try Producer(settings: settings, name: "test", log: .silent, metrics: Metrics())
            let topic = try producer.topic(named: "receipts")
            for _ in 0..<2 {
                _ = try producer.storeRecord(action: "write", in: topic, key: [], value: Array("{}".utf8))
            }
            let topicReader = try Cluster(settings: settings).makeReader(
                of: "receipts", log: .silent, metrics: Metrics())
            reader = ReceiptsReader(topicReader, log: .silent)
        }

        /// Reads a lane to the end, and returns the end. Each poll is a minute later than the one before, so that the
        /// reader repeats a failed query at once.
        func readToEnd(ofLane lane: Int32) async throws -> Int64? {
            var now = Instant.now()
            var end: Int64?
            try await eventually("the reader is at the end") {
                now = now.advanced(byMilliseconds: 60_000)
                _ = try reader.poll(at: now, { _, _ in }, end: { if $0 == lane { end = $1 } })
                return end != nil
            }
            return end
        }
    }

    @Test func `if receipts were deleted, the existing ones are read`() async throws {
        let receipts = try MockReceipts()
        defer { receipts.reader.close() }
        // Kafka answers so if the offset was deleted.
        receipts.cluster.failNext(.fetch, with: KafkaErrorCode.offsetOutOfRange.rawValue)
        receipts.reader.read(lane: 0, from: 0)
        #expect(try await receipts.readToEnd(ofLane: 0) == 2)
    }

    @Test func `a lane waits if the cluster does not give its end, and other lanes continue`() async throws {
        let receipts = try MockReceipts()
        defer { receipts.reader.close() }
        let now = Instant.now()
        var lanesAtEnd: [Int32] = []
        // This partition does not exist.
        receipts.reader.read(lane: 7, from: 0)
        _ = try receipts.reader.poll(at: now, { _, _ in }, end: { lane, _ in lanesAtEnd.append(lane) })
        receipts.reader.read(lane: 0, from: 1)
        _ = try receipts.reader.poll(at: now, { _, _ in }, end: { lane, _ in lanesAtEnd.append(lane) })
        #expect(lanesAtEnd.isEmpty, "a lane was read before its end was known")
        #expect(try await receipts.readToEnd(ofLane: 0) == 2)
    }

    private func isReadable(_ descriptor: Int32, withinMilliseconds limit: Int32) -> Bool {
        var event = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return unsafe Glibc.poll(&event, 1, limit) > 0
    }
}
