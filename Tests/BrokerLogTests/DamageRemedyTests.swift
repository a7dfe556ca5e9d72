import Glibc
import Telemetry
import Testing

@testable import Broker

/// A log with a damaged batch, one whose checksum is wrong. Readers continue behind the damage, compaction leaves the
/// damaged segment as it is, and a repair replaces the damage.
struct DamageRemedyTests {
    private static let settings = [
        "cleanup.policy": "compact", "segment.bytes": "400", "min.cleanable.dirty.ratio": "0.01",
        "delete.retention.ms": "0",
    ]

    /// The position of a byte in the record of a batch, behind the batch's header.
    private static let positionInRecord = BatchHeader.size + 9

    /// Returns a log of closed segments with 40 records of three keys. The batch at `offset` is damaged.
    private func logDamaged(at offset: Int64) throws -> LogFixture {
        let fixture = try LogFixture(Self.settings)
        for index in 0..<40 { try fixture.log.append(records("v\(index)", key: "k\(index % 3)")) }
        fixture.store.settle()
        try fixture.log.roll()
        fixture.store.settle()
        let segment = fixture.log.segment(holding: offset)
        let position = try fixture.log.locateBatch(holding: offset, in: segment).position
        flipBit(2, at: position + Self.positionInRecord, in: segment.path)
        // Forgets the positions that the search has read.
        fixture.log.readPositions.removeAll()
        return fixture
    }

    @Test func `the next intact batch is found above a damaged one`() throws {
        for offset in [0, 1, 20, 39] as [Int64] {
            let fixture = try logDamaged(at: offset)
            #expect(throws: LogError.self) { try fixture.log.read(from: offset) }
            #expect(try fixture.log.soundOffset(above: offset) == offset + 1)
            #expect(
                try fixture.log.findDamage(in: fixture.log.segment(holding: offset)).map(\.from) == [offset])
        }
    }

    @Test func `damage is counted once, however often it is read`() throws {
        let fixture = try logDamaged(at: 5)
        for _ in 0..<10 { #expect(throws: LogError.self) { try fixture.log.read(from: 5) } }
        #expect(fixture.store.environment.counters.damaged.value == 1)
    }

    /// Reads a log as a client does that continues behind damage.
    private func recordsAroundDamage(of log: PartitionLog) throws -> [StoredBatch.Record] {
        var records: [StoredBatch.Record] = []
        var offset = log.logStartOffset
        while offset < log.endOffset {
            do {
                for batch in try StoredBatch.all(in: try log.read(from: offset)) {
                    records += batch.records
                    offset = batch.header.nextOffset
                }
            } catch { offset = try log.soundOffset(above: offset) }
        }
        return records
    }

    @Test func `a compaction skips a damaged segment and leaves its file as it is`() throws {
        let fixture = try logDamaged(at: 20)
        let segment = fixture.log.segment(holding: 20)
        let damagedBytes = try Disk().contents(of: segment.path)
        let size = fixture.log.byteCount
        for second in 10..<14 { fixture.upkeep(at: secondsAfterNoon(Int64(second))) }
        #expect(fixture.log.byteCount < size)
        #expect(fixture.log.damagedSegments == [segment.baseOffset])
        #expect(try Disk().contents(of: segment.path) == damagedBytes)
        #expect(fixture.store.environment.counters.damaged.value == 1)
        var state: [String: String] = [:]
        for record in try recordsAroundDamage(of: fixture.log) { state[record.keyText] = record.valueText }
        #expect(state == ["k0": "v39", "k1": "v37", "k2": "v38"])
    }

    @Test func `a tombstone stays while an older record of its key may lie in a damaged segment`() throws {
        let fixture = try LogFixture(Self.settings)
        try fixture.log.append(records("old", key: "gone"))
        for index in 0..<10 { try fixture.log.append(records("v\(index)", key: "k\(index % 3)")) }
        let tombstone = BatchBuilder.batch(
            [NewRecord(key: Array("gone".utf8), value: nil)], time: noon.milliseconds)
        try fixture.log.append(tombstone)
        for index in 0..<20 { try fixture.log.append(records("v\(index)", key: "k\(index % 3)")) }
        fixture.store.settle()
        try fixture.log.roll()
        fixture.store.settle()
        // The first segment has the old record of "gone" in its first batch. The damage is in another batch.
        flipBit(2, at: 160, in: fixture.log.segments[0].path)
        for second in 10..<60 { fixture.upkeep(at: secondsAfterNoon(Int64(second * 10))) }
        #expect(!fixture.log.damagedSegments.isEmpty)
        let recordsOfKey = try recordsAroundDamage(of: fixture.log).filter { $0.keyText == "gone" }
        let values = recordsOfKey.map { $0.valueText ?? "-" }
        #expect(values == ["old", "-"])
    }

    @Test func `a coordinator's damaged topic is read around the damage`() throws {
        let directory = TestDirectory(inMemory: true)
        let store = try TopicStore(path: directory.path) {}
        let topic = try CoordinatorTopic(named: CoordinatorTopic.groups, in: store)
        func record(_ index: Int) -> CoordinatorRecord {
            CoordinatorRecord(key: Array("k\(index)".utf8), value: Array("v\(index)".utf8))
        }
        for index in 0..<20 { topic.append([record(index)]) { _ in } }
        store.settle()
        let segment = topic.log.activeSegment
        let damagedOffsets: [Int64] = [0, 7, 8, 19]
        for offset in damagedOffsets {
            let position = try topic.log.locateBatch(holding: offset, in: segment).position
            flipBit(1, at: position + BatchHeader.size + 4, in: segment.path)
        }
        topic.log.readPositions.removeAll()
        var restored: [String] = []
        try topic.replay(reportingTo: .silent) { record in
            restored.append(String(decoding: record.key, as: UTF8.self))
            return .applied
        }
        let expected = (0..<20).filter { !damagedOffsets.contains(Int64($0)) }.map { "k\($0)" }
        #expect(restored == expected)
    }

    /// Returns the directory of a closed store with one topic of 40 records and damage at some offsets.
    private func storeDirectory(damagedAt offsets: [Int64]) throws -> TestDirectory {
        let directory = TestDirectory(inMemory: true)
        let store = try TopicStore(path: directory.path, bootID: "one") {}
        let log = try store.create("t", partitions: 1, settings: ["segment.bytes": "600"]).partitions[0]
        for index in 0..<40 { try log.append(records("v\(index)", key: "k")) }
        store.settle()
        for offset in offsets {
            let segment = log.segment(holding: offset)
            let position = try log.locateBatch(holding: offset, in: segment).position
            flipBit(2, at: position + Self.positionInRecord, in: segment.path)
        }
        try store.close()
        return directory
    }

    private func values(of log: PartitionLog) throws -> [String] {
        var values: [String] = []
        try log.forEachBatch(from: 0) { values += $0.records.compactMap(\.valueText) }
        return values
    }

    @Test(arguments: [[0], [5, 6, 7], [3, 20, 39], Array(0..<40)] as [[Int64]])
    func `a repair replaces damage by empty batches and keeps the damaged file`(_ offsets: [Int64]) throws {
        let directory = try storeDirectory(damagedAt: offsets)
        let path = directory.path + "/logs/t-0.1"
        do {
            let survey = try StoreRepair(path: directory.path)
            // Behind the last intact batch of a log, damage looks like a torn write. So the offsets of the last
            // segment, from 32 on, need not be found.
            let damagedCount = try survey.findDamage().reduce(0) { $0 + $1.to - $1.from }
            #expect(damagedCount >= offsets.filter { $0 < 32 }.count)
        }
        let replaced = try TopicStore(path: directory.path, bootID: "one") {}.replaceDamage()
        #expect(replaced.reduce(0) { $0 + $1.to - $1.from } == offsets.count)
        #expect(try Disk().names(in: path).contains { $0.hasSuffix(".damaged") })
        let expected = (0..<40).filter { !offsets.contains(Int64($0)) }.map { "v\($0)" }
        for boot in ["one", "two"] {
            let store = try TopicStore(path: directory.path, bootID: boot) {}
            let log = try #require(store.topic(named: "t")).partitions[0]
            #expect(log.endOffset == 40)
            #expect(try values(of: log) == expected)
        }
        #expect(try StoreRepair(path: directory.path).findDamage() == [])
    }

    @Test func `a repair that is killed at any step loses nothing that could be read`() throws {
        let damagedOffsets: [Int64] = [3, 20, 39]
        let expected = (0..<40).filter { !damagedOffsets.contains(Int64($0)) }.map { "v\($0)" }
        // A step is an operation of the disk. The repair needs fewer than 400.
        for step in 1..<400 {
            let directory = try storeDirectory(damagedAt: damagedOffsets)
            let faultyDisk = FaultyDisk(seed: UInt64(step))
            faultyDisk.die(after: step)
            _ = try? TopicStore(path: directory.path, disk: faultyDisk.disk, bootID: "one") {}.replaceDamage()
            let isFinished = !faultyDisk.isDead
            _ = try TopicStore(path: directory.path, bootID: "one") {}.replaceDamage()
            let store = try TopicStore(path: directory.path, bootID: "two") {}
            let log = try #require(store.topic(named: "t")).partitions[0]
            #expect(log.endOffset == 40, "step \(step)")
            #expect(try values(of: log) == expected, "step \(step)")
            if isFinished { return }
        }
        Issue.record("the repair never ends")
    }
}
