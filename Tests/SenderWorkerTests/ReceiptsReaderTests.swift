import Glibc
import IngestTesting
import Kafka
import KafkaTesting
import ProcessTesting
import Telemetry
import Testing
import Topics

@testable import Sender

@Suite(.timeLimit(.minutes(5))) struct ReceiptsReaderTests {
    @Test func `a reader of receipts that has come to the end wakes nobody, whatever is written behind it`()
        async throws
    {
        let cluster = try TestCluster()
        let bed = try IngestBed(cluster.brokers, lanes: 1)
        let receipts = try ReportSender(bed, to: .receipts)
        func write(_ count: Int) {
            for _ in 0..<count { receipts.send(key: nil, value: Array("{}".utf8), partition: 0) }
            #expect(receipts.finish())
        }
        write(1)
        let consumer = try Consumer(
            bed.settings, ConsumerOptions(.manual), name: "receipts", log: .silent, metrics: Metrics())
        let reader = ReceiptsReader(consumer, topic: bed.layout.name(.receipts))
        defer { reader.close() }
        var end: Int64?
        func poll() throws { _ = try reader.poll({ _, _ in }, end: { end = $1 }) }
        reader.read(lane: 0, from: 0)
        try await eventually("it is at the end") {
            try poll()
            return end != nil
        }
        #expect(end == 1)
        write(1_000)
        // Longer than a fetch waits.
        var wakes = 0
        for _ in 0..<20 where isReadable(reader.descriptor, withinMilliseconds: 100) {
            wakes += 1
            try poll()
        }
        #expect(wakes < 10)
    }

    private func isReadable(_ descriptor: Int32, withinMilliseconds limit: Int32) -> Bool {
        var one = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return unsafe Glibc.poll(&one, 1, limit) > 0
    }
}
