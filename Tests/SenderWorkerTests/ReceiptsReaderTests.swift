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
///
/// `read` plans to read a lane, and `begin` starts when its marker is stored. The reader only compares the marker's
/// offset, so any record serves as the marker here.
@Suite(.timeLimit(.minutes(5))) struct ReceiptsReaderTests {
    @Test func `a reader that has reached the end is not kept awake by new receipts`() async throws {
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
        // For 2 s, which is longer than a fetch waits. The fetch in flight may leave a few wake-ups, but a reader that
        // kept its partitions would wake up at every look.
        let lookCount = 20
        var wakeups = 0
        for _ in 0..<lookCount where isReadable(reader.descriptor, withinMilliseconds: 100) {
            wakeups += 1
            try poll()
        }
        #expect(wakeups < lookCount / 2)
    }

    @Test func `if receipts were deleted, the existing ones are read`() async throws {
        let receipts = try MockReceipts()
        defer { receipts.reader.close() }
        // Kafka answers so if the offset was deleted.
        receipts.cluster.failNext(.fetch, with: KafkaErrorCode.offsetOutOfRange.rawValue)
        receipts.reader.read(lane: 0, from: 0)
        receipts.reader.begin(lane: 0, markerAt: MockReceipts.markerOffset)
        #expect(try await receipts.lanesUntilEnd(ofLane: 0) == [0])
    }

    @Test func `a lane waits until its marker is stored, and other lanes continue`() async throws {
        let receipts = try MockReceipts()
        defer { receipts.reader.close() }
        receipts.reader.read(lane: 0, from: 0)
        receipts.reader.read(lane: 1, from: 0)
        receipts.reader.begin(lane: 0, markerAt: MockReceipts.markerOffset)
        #expect(try await receipts.lanesUntilEnd(ofLane: 0) == [0], "lane 1 did not wait for its marker")
        receipts.reader.begin(lane: 1, markerAt: MockReceipts.markerOffset)
        #expect(try await receipts.lanesUntilEnd(ofLane: 1) == [1])
    }

    /// A mock cluster that fails on request, with three records in each of two lanes, and a reader. The last record of
    /// a lane is the marker.
    private struct MockReceipts {
        static let markerOffset: Int64 = 2
        private static let laneCount = 2

        let cluster: MockCluster
        let reader: ReceiptsReader

        init() throws {
            cluster = try #require(MockCluster(brokers: 1))
            cluster.createTopic(named: "receipts", partitions: Self.laneCount)
            let settings = KafkaSettings(brokers: cluster.brokers)
            let producer = try Producer(settings: settings, name: "test", log: .silent, metrics: Metrics())
            let topic = try producer.topic(named: "receipts")
            for lane in 0..<Self.laneCount {
                let key = Self.key(ofLane: lane)
                for offset in 0...Self.markerOffset {
                    let stored = try producer.storeRecord(
                        action: "write", in: topic, key: key, value: Array("{}".utf8))
                    #expect(stored.partition == lane && stored.offset == offset)
                }
            }
            let topicReader = try Cluster(settings: settings).makeReader(
                of: "receipts", outOfRange: .earliest, log: .silent, metrics: Metrics())
            reader = ReceiptsReader(topicReader, log: .silent)
        }

        private static func key(ofLane lane: Int) -> [UInt8] {
            var number = 0
            while true {
                let key = Array("\(number)".utf8)
                if Murmur2.partition(forKey: key.span, partitionCount: laneCount) == lane { return key }
                number += 1
            }
        }

        /// Reads until a lane is at its marker. Returns the lanes that have ended since the call.
        func lanesUntilEnd(ofLane lane: Int32) async throws -> [Int32] {
            var ended: [Int32] = []
            try await eventually("the reader is at the marker") {
                _ = try reader.poll(
                    receipt: { _, _ in }, marker: { _, _, _ in },
                    end: { lane, offset in
                        #expect(offset == Self.markerOffset)
                        ended.append(lane)
                    })
                return ended.contains(lane)
            }
            return ended
        }
    }

    private func isReadable(_ descriptor: Int32, withinMilliseconds limit: Int32) -> Bool {
        var event = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return unsafe Glibc.poll(&event, 1, limit) > 0
    }
}
