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
/// up to a marker that the sender has written, and reports its offset. It must survive deleted records and a marker
/// that is not stored.
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
            of: bed.layout.name(of: .receipts), outOfRange: .earliest, log: .silent, metrics: Metrics())
        let reader = ReceiptsReader(topicReader, log: .silent)
        defer { reader.close() }
        var end: Int64?
        func poll() throws {
            _ = try reader.poll(receipt: { _, _ in }, marker: { _, _, _ in }, end: { end = $1 })
        }
        reader.read(lane: 0, from: 0)
        // The marker is the second record.
        writeReceipts(count: 1)
        reader.begin(lane: 0, markerAt: 1)
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

    /// A mock cluster that fails on request, with three records of lane 0, and a reader. The last record is the marker.
    private struct MockReceipts {
        let cluster: MockCluster
        let reader: ReceiptsReader

        init() throws {
            cluster = try #require(MockCluster(brokers: 1))
            cluster.createTopic(named: "receipts", partitions: 1)
            let settings = KafkaSettings(brokers: cluster.brokers)
            let producer = try Producer(settings: settings, name: "test", log: .silent, metrics: Metrics())
            let topic = try producer.topic(named: "receipts")
            for _ in 0..<3 {
                _ = try producer.storeRecord(action: "write", in: topic, key: [], value: Array("{}".utf8))
            }
            let topicReader = try Cluster(settings: settings).makeReader(
                of: "receipts", outOfRange: .earliest, log: .silent, metrics: Metrics())
            reader = ReceiptsReader(topicReader, log: .silent)
        }

        /// Reads a lane to its marker, and returns the marker's offset.
        func readToEnd(ofLane lane: Int32) async throws -> Int64? {
            var end: Int64?
            try await eventually("the reader is at the marker") {
                _ = try reader.poll(
                    receipt: { _, _ in }, marker: { _, _, _ in }, end: { if $0 == lane { end = $1 } })
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
        receipts.reader.begin(lane: 0, markerAt: 2)
        #expect(try await receipts.readToEnd(ofLane: 0) == 2)
    }

    @Test func `a lane waits if its marker is not stored, and other lanes continue`() async throws {
        let receipts = try MockReceipts()
        defer { receipts.reader.close() }
        receipts.reader.read(lane: 7, from: 0)
        receipts.reader.read(lane: 0, from: 1)
        var lanesAtEnd: [Int32] = []
        _ = try receipts.reader.poll(
            receipt: { _, _ in }, marker: { _, _, _ in }, end: { lane, _ in lanesAtEnd.append(lane) })
        #expect(lanesAtEnd.isEmpty, "a lane was read before its marker was stored")
        receipts.reader.begin(lane: 0, markerAt: 2)
        #expect(try await receipts.readToEnd(ofLane: 0) == 2)
    }

    private func isReadable(_ descriptor: Int32, withinMilliseconds limit: Int32) -> Bool {
        var event = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return unsafe Glibc.poll(&event, 1, limit) > 0
    }
}
