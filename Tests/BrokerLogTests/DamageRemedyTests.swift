import Glibc
import Telemetry
import Testing

@testable import Broker

/// A log with a damaged batch goes on: what can be read is read, and the rest is compacted.
struct DamageRemedyTests {
    private static let settings = [
        "cleanup.policy": "compact", "segment.bytes": "400", "min.cleanable.dirty.ratio": "0.01",
        "delete.retention.ms": "0",
    ]

    /// Closed segments with few keys; the batch at `offset` is damaged.
    private func damaged(at offset: Int64) throws -> OneLog {
        let one = try OneLog(Self.settings)
        for index in 0..<40 { try one.log.append(records("v\(index)", key: "k\(index % 3)")) }
        one.store.settle()
        try one.log.roll()
        one.store.settle()
        let segment = one.log.segment(holding: offset)
        let position = try one.log.locate(offset, in: segment).position
        flip(segment.path, position + 70, bit: 2)
        one.log.positions.forget()
        return one
    }

    @Test func `the next sound batch is found above a damaged one`() throws {
        for offset in [0, 1, 20, 39] as [Int64] {
            let one = try damaged(at: offset)
            #expect(throws: LogError.self) { try one.log.read(from: offset) }
            #expect(try one.log.soundOffset(above: offset) == offset + 1)
            #expect(try one.log.damage(in: one.log.segment(holding: offset)).map(\.from) == [offset])
        }
    }

    @Test func `damage is counted once, however often it is read`() throws {
        let one = try damaged(at: 5)
        for _ in 0..<10 { #expect(throws: LogError.self) { try one.log.read(from: 5) } }
        #expect(one.store.environment.counters.damaged.value == 1)
    }

    @Test func `a compaction goes on around a damaged segment and leaves its file as it is`() throws {
        let one = try damaged(at: 20)
        let segment = one.log.segment(holding: 20)
        let before = try Disk().contents(of: segment.path)
        let size = one.log.size
        for second in 10..<14 { one.upkeep(at: at(Int64(second))) }
        #expect(one.log.size < size)
        #expect(one.log.damagedSegments == [segment.baseOffset])
        #expect(try Disk().contents(of: segment.path) == before)
        #expect(one.store.environment.counters.damaged.value == 1)
        // The newest record of each key is there.
        var state: [String: String] = [:]
        var offset = one.log.logStartOffset
        while offset < one.log.endOffset {
            do {
                for batch in try StoredBatch.all(in: try one.log.read(from: offset)) {
                    for record in batch.records { state[record.keyText] = record.valueText }
                    offset = batch.header.nextOffset
                }
            } catch { offset = try one.log.soundOffset(above: offset) }
        }
        #expect(state == ["k0": "v39", "k1": "v37", "k2": "v38"])
    }

    @Test func `a tombstone stays while an older record of its key may lie in a damaged segment`() throws {
        let one = try OneLog(Self.settings)
        try one.log.append(records("old", key: "gone"))
        for index in 0..<10 { try one.log.append(records("v\(index)", key: "k\(index % 3)")) }
        let tombstone = BatchBuilder.batch(
            [NewRecord(key: Array("gone".utf8), value: nil)], time: noon.milliseconds)
        try one.log.append(tombstone)
        for index in 0..<20 { try one.log.append(records("v\(index)", key: "k\(index % 3)")) }
        one.store.settle()
        try one.log.roll()
        one.store.settle()
        flip(one.log.segments[0].path, 160, bit: 2)
        for second in 10..<60 { one.upkeep(at: at(Int64(second * 10))) }
        #expect(!one.log.damagedSegments.isEmpty)
        var seen: [String] = []
        var offset = one.log.logStartOffset
        while offset < one.log.endOffset {
            do {
                for batch in try StoredBatch.all(in: try one.log.read(from: offset)) {
                    seen += batch.records.filter { $0.keyText == "gone" }.map { $0.valueText ?? "-" }
                    offset = batch.header.nextOffset
                }
            } catch { offset = try one.log.soundOffset(above: offset) }
        }
        #expect(seen == ["old", "-"])
    }

    @Test func `a coordinator's damaged topic is read around the damage`() throws {
        let directory = TestDirectory(inMemory: true)
        let store = try TopicStore(path: directory.path) {}
        let topic = try CoordinatorTopic(named: CoordinatorTopic.groups, in: store)
        func record(_ index: Int) -> CoordinatorRecord {
            CoordinatorRecord(key: Array("k\(index)".utf8), value: Array("v\(index)".utf8))
        }
        for index in 0..<20 { topic.persist([record(index)]) { _ in } }
        store.settle()
        let segment = topic.log.active
        for offset in [0, 7, 8, 19] as [Int64] {
            flip(segment.path, try topic.log.locate(offset, in: segment).position + 65, bit: 1)
        }
        topic.log.positions.forget()
        var restored: [String] = []
        try topic.replay(log: .silent) { record in
            restored.append(String(decoding: record.key, as: UTF8.self))
            return .applied
        }
        let expected = (0..<20).filter { ![0, 7, 8, 19].contains($0) }.map { "k\($0)" }
        #expect(restored == expected)
    }
}
