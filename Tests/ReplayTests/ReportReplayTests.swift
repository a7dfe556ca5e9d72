import IngestTesting
import JSON
import Kafka
import Testing
import Topics

@testable import Replay

/// Reports that are read again from a point in time: a call appends copies of them to their topic, with their first time
/// and order in headers. The header `flotilla-replayed` of a copy is `CALL/OFFSET`.
@Suite struct ReportReplayTests {
    private let stand: ReplayStand

    init() throws { stand = try ReplayStand() }

    private func write(_ count: Int, to lane: Int32 = 0) throws {
        for number in 0..<count {
            try stand.write(Array("report \(number)".utf8), to: .reports, lane: lane, key: [1])
        }
    }

    private func replay(_ start: ReportReplay.Start = .time(0), run: String = "a1") -> ReportReplay {
        ReportReplay(deadLetters: stand.deadLetters, from: start, author: "somebody", run: run)
    }

    private func reports() throws -> [ReadRecord] { try TopicContent(of: .reports, in: stand.bed).records }

    @Test func `reports are appended again with their first time and order`()
        throws
    {
        try write(3)
        try write(2, to: 1)
        let replay = replay()
        #expect(try replay.preview().reports == 5)
        let before = try reports()
        #expect(before.count == 5, "a preview writes nothing")
        #expect(try replay.execute { _ in }.reports == 5)
        let after = try reports()
        for original in before {
            let copies = after.filter {
                $0.headers["flotilla-replayed"] == "a1/\(original.offset)"
                    && $0.partition == original.partition
            }
            #expect(copies.count == 1)
            #expect(copies.first?.value == original.value && copies.first?.key == original.key)
            #expect(copies.first?.headers["flotilla-received-at"] == String(original.timestamp))
            #expect(copies.first?.headers["flotilla-first-offset"] == String(original.offset))
        }
        #expect(after.count == 10)
    }

    @Test func `a forwarded report keeps its first time and order`() throws {
        try stand.write(
            [2], to: .reports, lane: 0, key: [1],
            headers: [
                ("flotilla-received-at", Array("77".utf8)), ("flotilla-first-offset", Array("5".utf8)),
            ])
        let replay = replay()
        _ = try replay.preview()
        _ = try replay.execute { _ in }
        let copy = try #require(try reports().last)
        #expect(copy.headers["flotilla-received-at"] == "77" && copy.headers["flotilla-first-offset"] == "5")
    }

    @Test func `an interrupted call resumes after its copies, and copies are not copied again`() throws {
        struct Interrupted: Error {}
        try write(2_500)
        let first = replay()
        #expect(try first.preview().reports == 2_500)
        // Batches have a thousand copies. The call is interrupted after the second batch.
        var batchCount = 0
        #expect(throws: Interrupted.self) {
            _ = try first.execute { _ in
                batchCount += 1
                if batchCount == 2 { throw Interrupted() }
            }
        }
        let second = replay()
        let preview = try second.preview()
        #expect(preview.reports == 500 && preview.copiedBefore == 2_000)
        #expect(try second.execute { _ in }.reports == 500)
        #expect(try replay().preview().reports == 0, "everything is done")
        #expect(try reports().count == 5_000)
        // A call with another name reads the originals but not the copies.
        #expect(try replay(run: "b2").preview().reports == 2_500)
    }

    @Test func `one partition can be replayed from an offset`() throws {
        try write(5)
        try write(5, to: 1)
        let replay = replay(.position(DeadLetterID(partition: 1, offset: 3)))
        #expect(try replay.preview().reports == 2)
        #expect(try replay.execute { _ in }.reports == 2)
        #expect(try reports().count { $0.headers["flotilla-replayed"] != nil && $0.partition == 1 } == 2)
    }
}
