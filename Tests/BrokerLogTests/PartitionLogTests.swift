import Telemetry
import Testing

@testable import Broker

/// The time at which most records of these tests are appended.
let noon = WallTime(milliseconds: 1_700_000_000_000)

/// Returns a batch of records with these values and the same key.
func records(_ values: String..., key: String? = nil) -> [UInt8] {
    BatchBuilder.batch(
        values.map { NewRecord(key: key.map { Array($0.utf8) }, value: Array($0.utf8)) },
        time: noon.milliseconds)
}

extension PartitionLog {
    @discardableResult
    func append(_ bytes: [UInt8], now: WallTime = noon) throws(LogError) -> AppendResult {
        try bytes.withBytes { (raw) throws(LogError) in try append(raw, now: now) }
    }

    func read(from offset: Int64, maxBytes: Int = 1 << 20, committed: Bool = false) throws(LogError)
        -> [UInt8]
    {
        var writer = WireWriter()
        _ = try read(from: offset, maxBytes: maxBytes, committed: committed, into: &writer)
        return writer.copied()
    }
}

extension TopicStore {
    /// Runs the flusher on this thread until no sync waits.
    func settle(at now: WallTime = noon) {
        while flusher.runOnce() { deliver(now: now) }
    }
}

/// The way of a record: appended, durable, visible, and read after a restart.
struct PartitionLogTests {
    @Test func `appended records are read back after a restart`() throws {
        let directory = TestDirectory()
        do {
            let store = try TopicStore(path: directory.path) {}
            let log = try store.create("orders", partitions: 1).partitions[0]
            try log.append(records("a", "b"))
            let appended = try log.append(records("c"))
            #expect(appended.baseOffset == 2)
            #expect(log.highWatermark == 0)
            var answer: LogError??
            log.whenDurable(upTo: appended.nextOffset) { answer = .some($0) }
            #expect(answer == nil)
            store.settle()
            #expect(answer == .some(nil))
            #expect(log.highWatermark == 3)
            try store.close()
        }
        let store = try TopicStore(path: directory.path) {}
        let log = try #require(store.topic(named: "orders")).partitions[0]
        #expect(log.endOffset == 3)
        let bytes = try log.read(from: 0)
        #expect(bytes.count > 2 * BatchHeader.size)
    }
}
