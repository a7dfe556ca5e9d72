import Glibc
import Synchronization
import Telemetry
import Testing

@testable import Broker

/// The bytes that must be on the disk before an answer leaves. An append is answered with nil if it is durable, else
/// with an error. `settle` does the syncs that wait.
struct DurabilityTests {
    /// Returns the first batch of a producer.
    private static func batch(_ value: String, producer: Int64 = 7) -> [UInt8] {
        BatchBuilder.batch(
            [NewRecord(key: nil, value: Array(value.utf8))], time: noon.milliseconds, producerID: producer,
            producerEpoch: 0, baseSequence: 0)
    }

    /// Returns the answer to an append in a word.
    private static func word(for error: LogError?) -> String { error == nil ? "durable" : "refused" }

    /// The operations of a disk, and other events, in their order.
    private final class Journal: Sendable {
        private let lines = Mutex<[String]>([])

        var disk: Disk {
            Disk { [self] operation, path, _ in
                note("\(operation) \(path.split(separator: "/").last ?? "")")
                return nil
            }
        }
        var entries: [String] { lines.withLock { $0 } }

        func note(_ line: String) { lines.withLock { $0.append(line) } }
        func removeAll() { lines.withLock { $0 = [] } }
    }

    @Test func `an append is answered when its bytes, and its file's name, are on the disk`() throws {
        let directory = TestDirectory()
        let journal = Journal()
        let store = try TopicStore(path: directory.path, disk: journal.disk) {}
        let log = try store.create("t", partitions: 1).partitions[0]
        store.settle()
        func append() throws -> [String] {
            journal.removeAll()
            let appended = try log.append(records("v"))
            log.whenDurable(upTo: appended.nextOffset) { _ in journal.note("answered") }
            store.settle()
            return journal.entries
        }
        // The first append also syncs the name of the segment.
        let segment = Segment.path(in: "", from: 0, suffix: "log").dropFirst()
        #expect(try append().contains("answered"))
        #expect(try append() == ["write \(segment)", "sync \(segment)", "answered"])
        try log.roll()
        let nextSegment = Segment.path(in: "", from: 2, suffix: "log").dropFirst()
        let operations = try append()
        let name = log.directory.split(separator: "/").last ?? ""
        // The directory may be synced before or after the file, but before the answer.
        for required in [["write \(nextSegment)", "sync \(nextSegment)"], ["syncDirectory \(name)"]] {
            let positions = (required + ["answered"]).compactMap { operations.lastIndex(of: $0) }
            #expect(positions.count == required.count + 1, "\(operations)")
            #expect(positions == positions.sorted(), "\(operations)")
        }
    }

    @Test func `a new partition costs one sync, and a prepared close costs none`() throws {
        let directory = TestDirectory(inMemory: true)
        let journal = Journal()
        func syncCount() -> Int { journal.entries.filter { $0.hasPrefix("sync") }.count }
        do {
            let store = try TopicStore(path: directory.path, disk: journal.disk) {}
            journal.removeAll()
            let logs = try store.create("t", partitions: 100).partitions
            // One for each partition, and some for the catalog.
            #expect(syncCount() <= 106)
            for log in logs { try log.append(records("v")) }
            store.settle()
            for log in logs { try log.append(records("w")) }
            store.prepareClose()
            store.settle()
            journal.removeAll()
            try store.close()
            #expect(syncCount() == 0)
        }
        let reopened = try TopicStore(path: directory.path, disk: journal.disk) {}
        #expect(reopened.topic(named: "t")?.partitions.map(\.endOffset) == Array(repeating: 2, count: 100))
    }

    @Test func `a duplicate is answered when its first copy is on the disk, and not before`() throws {
        let fixture = try LogFixture()
        let batch = Self.batch("v")
        var answers: [String] = []
        let first = try fixture.log.append(batch)
        fixture.log.whenDurable(upTo: first.nextOffset) { answers.append("first \(Self.word(for: $0))") }
        let duplicate = try fixture.log.append(batch)
        #expect(duplicate.isDuplicate && duplicate.nextOffset == first.nextOffset)
        fixture.log.whenDurable(upTo: duplicate.nextOffset) {
            answers.append("duplicate \(Self.word(for: $0))")
        }
        #expect(answers == [])
        fixture.store.settle()
        #expect(answers == ["first durable", "duplicate durable"])
        // The batch is durable now, so the answer comes at once.
        fixture.log.whenDurable(upTo: try fixture.log.append(batch).nextOffset) {
            answers.append("late \(Self.word(for: $0))")
        }
        #expect(answers.last == "late durable")
    }

    @Test func `a duplicate is refused with its first copy when the sync fails`() throws {
        let fixture = try LogFixture()
        let batch = Self.batch("v")
        var answers: [String] = []
        fixture.log.whenDurable(upTo: try fixture.log.append(batch).nextOffset) {
            answers.append("first \(Self.word(for: $0))")
        }
        fixture.log.whenDurable(upTo: try fixture.log.append(batch).nextOffset) {
            answers.append("duplicate \(Self.word(for: $0))")
        }
        fixture.faultyDisk.failNext(.sync, with: .fail(EIO))
        fixture.store.settle()
        #expect(answers == ["first refused", "duplicate refused"])
        #expect(try !fixture.log.append(batch).isDuplicate)
    }

    // A process writes and dies. The next one shows the records that it found, and then the power fails. The seed
    // decides which unsynced bytes the power failure leaves.
    @Test func `no later power failure removes records that a start has shown`() throws {
        for seed in 0..<UInt64(20) {
            let hasCheckpoint = seed % 2 == 0
            let directory = TestDirectory(inMemory: true)
            let faultyDisk = FaultyDisk(seed: seed)
            func open(boot: String) throws -> TopicStore {
                faultyDisk.revive()
                return try TopicStore(path: directory.path, disk: faultyDisk.disk, bootID: boot) {}
            }
            do {
                let store = try open(boot: "one")
                let topic = try store.create("t", partitions: 1, settings: ["segment.bytes": "300"])
                let log = topic.partitions[0]
                if hasCheckpoint {
                    // The checkpoint describes the log before the unsynced records.
                    try log.append(records("settled"))
                    store.settle()
                    store.upkeep(now: noon)
                    store.settle()
                }
                // Over several segments, and no sync of any of them.
                for number in 0..<5 { try log.append(records("unsynced \(number)")) }
            }
            var shownEnd: Int64 = 0
            do {
                let store = try open(boot: "one")
                shownEnd = try #require(store.topic(named: "t")).partitions[0].highWatermark
            }
            #expect(shownEnd == (hasCheckpoint ? 6 : 5), "seed \(seed)")
            faultyDisk.losePower()
            let store = try open(boot: "two")
            let log = try #require(store.topic(named: "t")).partitions[0]
            #expect(log.endOffset == shownEnd, "seed \(seed): \(shownEnd) records were shown")
        }
    }
}
