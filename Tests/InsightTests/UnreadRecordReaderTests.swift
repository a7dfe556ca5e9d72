import IngestTesting
import Kafka
import KafkaTesting
import ProcessTesting
import StageSupport
import Telemetry
import Testing
import Topics

/// The lookup of the oldest record that a group has not read.
@Suite struct UnreadRecordReaderTests {
    @Test func `one pass finds the first waiting record of every group, also far apart in one partition`()
        async throws
    {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 3)
        let writer = try RecordWriter(on: bed)
        // The records are large, so that no broker answer contains all positions of one partition.
        for number in 0..<900 as Range<Int32> {
            writer.write(key: nil, value: Array(repeating: 7, count: 4000), partition: number % 3)
            // The records are written in batches of 90.
            if number % 90 == 89 { #expect(writer.finish()) }
        }
        let topic = bed.layout.name(of: .reports)
        // The offsets 0, 149 and 298 in each of the three partitions, which have 300 records.
        var stamps: [UnreadRecordReader.GroupPosition: Int64] = [:]
        for record in try TopicContent(of: .reports, in: bed).records where record.offset % 149 == 0 {
            let position = UnreadRecordReader.GroupPosition(
                partition: TopicPartition(topic, record.partition), offset: record.offset)
            stamps[position] = record.timestamp
        }
        let unreadRecords = try UnreadRecordReader(settings: bed.settings, log: .silent)
        #expect(stamps.count == 9)
        // A pass has a time limit, and on a busy machine finds fewer records.
        try await eventually("all are found") {
            try unreadRecords.readOldest(at: Set(stamps.keys)).oldest == stamps
        }

        // At the end of a partition no record waits. A position without an offset is before the first record.
        let end = UnreadRecordReader.GroupPosition(partition: TopicPartition(topic, 0), offset: 300)
        let first = UnreadRecordReader.GroupPosition(partition: TopicPartition(topic, 0), offset: nil)
        let oldest =
            stamps[UnreadRecordReader.GroupPosition(partition: TopicPartition(topic, 0), offset: 0)] ?? 0
        try await eventually("only the first is found") {
            try unreadRecords.readOldest(at: [end, first]) == .init(oldest: [first: oldest], caughtUp: [end])
        }
        #expect(try unreadRecords.readOldest(of: []) == .init())
    }
}
