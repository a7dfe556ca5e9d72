import Kafka
import Simulation
import Testing

@testable import Webhooks

/// Tests of the form in which a cursor is committed: the next record to read as the offset, and the records before it
/// that are not finished as metadata, with the attempts of each.
struct CommittedCursorTests {
    @Test func `a cursor has this form and reads back`() {
        // In base 36, the replay 35 is `z`, the offset 1000 is `rs`, and the distance 36 is `10`.
        let cursor = CommittedCursor(next: 1042, replay: 35, openOffsets: [1000: 0, 1036: 2])
        #expect(cursor.metadata == "w1 z rs:0 10:2")
        #expect(CommittedCursor(next: 1042, metadata: cursor.metadata) == cursor)
    }

    @Test(arguments: [
        "", "x", "w2 0 1:1", "w1", "w1 0 x", "w1 0 -1:0",
        // The largest number twice: the sum is no offset.
        "w1 0 1y2p0ij32e8e7:0 1y2p0ij32e8e7:0",
    ])
    func `metadata of another form has no open events`(_ metadata: String) {
        #expect(CommittedCursor(next: 7, metadata: metadata).openOffsets.isEmpty)
    }

    @Test func `any cursor fits into Kafka's metadata and loses no event`() {
        for trial in 0..<trialCount(base: 300) {
            var random = SeededGenerator(seed: trial)
            var cursor = PartitionCursor(firstNew: 0)
            var offset: Int64 = 0
            var held: [Int64] = []
            for _ in 0..<random.number(below: 1500) {
                offset += Int64(1 + random.number(below: 1 << (1 + random.number(below: 30))))
                cursor.hold(offset)
                cursor.recordAttempts(random.number(below: 10), of: offset)
                cursor.didRead(offset)
                held.append(offset)
            }
            let committed = CommittedCursor(cursor, replay: Int64(random.number(below: 1 << 40)))
            #expect(committed.metadata.utf8.count <= OffsetToCommit.metadataBytesMax, "trial \(trial)")
            let restored = CommittedCursor(next: committed.next, metadata: committed.metadata)
            #expect(restored == committed, "trial \(trial)")
            #expect(held.allSatisfy { restored.cursor.isWanted($0) }, "trial \(trial)")
        }
    }

    @Test func `finished records are not wanted again, also if they lie behind an open one`() {
        var cursor = PartitionCursor(firstNew: 10)
        for offset in Int64(10)..<20 {
            cursor.hold(offset)
            cursor.didRead(offset)
        }
        for offset in Int64(10)..<20 where offset != 12 { cursor.finish(offset) }
        let restored = CommittedCursor(cursor, replay: 0).cursor
        #expect(restored.start == 12)
        #expect((Int64(10)..<20).filter(restored.isWanted) == [12])
        #expect(restored.isWanted(20))
        // A restart that has not read the open record yet still commits it.
        #expect(CommittedCursor(restored, replay: 0).openOffsets == [12: 0])
    }
}
