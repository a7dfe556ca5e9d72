import Telemetry
import Testing

@testable import Broker

/// The course of a record: appended, durable, visible, and read after a restart.
struct PartitionLogTests {
    @Test func `an append is answered when it is durable, and its records are read back after a restart`()
        throws
    {
        let directory = TestDirectory()
        do {
            let store = try TopicStore(path: directory.path) {}
            let log = try store.create("orders", partitions: 1).partitions[0]
            try log.append(records("a", "b"))
            let appended = try log.append(records("c"))
            #expect(appended.baseOffset == 2)
            #expect(log.highWatermark == 0)
            // An answer without an error is nil.
            var answers: [LogError?] = []
            log.whenDurable(upTo: appended.nextOffset) { answers.append($0) }
            #expect(answers.isEmpty)
            store.settle()
            #expect(answers == [nil])
            #expect(log.highWatermark == 3)
            try store.close()
        }
        let store = try TopicStore(path: directory.path) {}
        let log = try #require(store.topic(named: "orders")).partitions[0]
        #expect(log.endOffset == 3)
        let bytes = try log.read(from: 0)
        // Both batches.
        #expect(bytes.count > 2 * BatchHeader.size)
    }
}
