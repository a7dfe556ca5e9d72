import Glibc
import Synchronization
import Telemetry
import Testing

@testable import Broker

/// The bytes that must be on the disk before an answer leaves.
struct DurabilityTests {
    private static func batch(_ value: String, producer: Int64 = 7) -> [UInt8] {
        BatchBuilder.batch(
            [NewRecord(key: nil, value: Array(value.utf8))], time: noon.milliseconds, producerID: producer,
            producerEpoch: 0, baseSequence: 0)
    }

    /// Writes down what the disk is asked for, and what else happens.
    private final class Journal: Sendable {
        private let lines = Mutex<[String]>([])

        var disk: Disk {
            Disk { [self] operation, path, _ in
                note("\(operation) \(path.split(separator: "/").last ?? "")")
                return nil
            }
        }
        var all: [String] { lines.withLock { $0 } }

        func note(_ line: String) { lines.withLock { $0.append(line) } }
        func forget() { lines.withLock { $0 = [] } }
    }

    @Test func `an append is answered when its bytes, and its file's name, are on the disk`() throws {
        let directory = TestDirectory()
        let journal = Journal()
        let store = try TopicStore(path: directory.path, disk: journal.disk) {}
        let log = try store.create("t", partitions: 1).partitions[0]
        store.settle()
        func append() throws -> [String] {
            journal.forget()
            let appended = try log.append(records("v"))
            log.whenDurable(upTo: appended.nextOffset) { _ in journal.note("answered") }
            store.settle()
            return journal.all
        }
        let segment = Segment.path(in: "", from: 0, suffix: "log").dropFirst()
        #expect(try append().contains("answered"))
        #expect(try append() == ["write \(segment)", "sync \(segment)", "answered"])
        try log.roll()
        let behind = Segment.path(in: "", from: 2, suffix: "log").dropFirst()
        let all = try append()
        let name = log.directory.split(separator: "/").last ?? ""
        for needed in [["write \(behind)", "sync \(behind)"], ["syncDirectory \(name)"]] {
            let places = (needed + ["answered"]).map { all.lastIndex(of: $0) }
            #expect(places == places.sorted { ($0 ?? -1) < ($1 ?? -1) } && !places.contains(nil), "\(all)")
        }
    }

    @Test func `a new partition costs one sync, and a prepared close costs none`() throws {
        let directory = TestDirectory(inMemory: true)
        let journal = Journal()
        func syncs() -> Int { journal.all.filter { $0.hasPrefix("sync") }.count }
        do {
            let store = try TopicStore(path: directory.path, disk: journal.disk) {}
            journal.forget()
            let logs = try store.create("t", partitions: 100).partitions
            #expect(syncs() <= 106)
            for log in logs { try log.append(records("v")) }
            store.settle()
            for log in logs { try log.append(records("w")) }
            store.prepareClose()
            store.settle()
            journal.forget()
            try store.close()
            #expect(syncs() == 0)
        }
        let again = try TopicStore(path: directory.path, disk: journal.disk) {}
        #expect(again.topic(named: "t")?.partitions.map(\.endOffset) == Array(repeating: 2, count: 100))
    }

    @Test func `a duplicate is answered when its first copy is on the disk, and not before`() throws {
        let one = try OneLog()
        let batch = Self.batch("v")
        var answers: [String] = []
        let first = try one.log.append(batch)
        one.log.whenDurable(upTo: first.nextOffset) { answers.append("first \($0 == nil)") }
        let again = try one.log.append(batch)
        #expect(again.isDuplicate && again.nextOffset == first.nextOffset)
        one.log.whenDurable(upTo: again.nextOffset) { answers.append("again \($0 == nil)") }
        #expect(answers == [])
        one.store.settle()
        #expect(answers == ["first true", "again true"])
        // Now it is there, and the answer comes at once.
        one.log.whenDurable(upTo: try one.log.append(batch).nextOffset) {
            answers.append("late \($0 == nil)")
        }
        #expect(answers.last == "late true")
    }

    @Test func `a duplicate is refused with its first copy when the sync fails`() throws {
        let one = try OneLog()
        let batch = Self.batch("v")
        var answers: [String] = []
        one.log.whenDurable(upTo: try one.log.append(batch).nextOffset) {
            answers.append("first \($0 == nil)")
        }
        one.log.whenDurable(upTo: try one.log.append(batch).nextOffset) {
            answers.append("again \($0 == nil)")
        }
        one.faulty.failNext(.sync, .fail(EIO))
        one.store.settle()
        #expect(answers == ["first false", "again false"])
        #expect(try !one.log.append(batch).isDuplicate)
    }

    /// A process writes and dies, the next one shows what it has found, and then the power fails.
    @Test func `no later power failure removes records that a start has shown`() throws {
        for seed in 0..<UInt64(20) {
            let directory = TestDirectory(inMemory: true)
            let faulty = FaultyDisk(seed: seed)
            func open(boot: String) throws -> TopicStore {
                faulty.revive()
                return try TopicStore(path: directory.path, disk: faulty.disk, bootID: boot) {}
            }
            do {
                let store = try open(boot: "one")
                let log = try store.create("t", partitions: 1, settings: ["segment.bytes": "300"]).partitions[
                    0]
                if seed % 2 == 0 {
                    // With a checkpoint, which describes the state before.
                    try log.append(records("settled"))
                    store.settle()
                    store.upkeep(now: noon)
                    store.settle()
                }
                // Over several segments, and no sync of any of them.
                for number in 0..<5 { try log.append(records("unsynced \(number)")) }
            }
            var shown: Int64 = 0
            do {
                let store = try open(boot: "one")
                shown = try #require(store.topic(named: "t")).partitions[0].highWatermark
            }
            #expect(shown == (seed % 2 == 0 ? 6 : 5), "seed \(seed)")
            faulty.losePower()
            let store = try open(boot: "two")
            let log = try #require(store.topic(named: "t")).partitions[0]
            #expect(log.endOffset == shown, "seed \(seed): \(shown) were shown")
        }
    }
}
