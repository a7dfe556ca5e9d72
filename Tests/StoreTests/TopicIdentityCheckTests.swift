import Telemetry
import Testing

@testable import Store

struct TopicIdentityCheckTests {
    private func identity(_ taken: Int64...) throws -> AppliedProgress {
        var identity = TopicIdentityCheck(progress: nil)
        for offset in taken { identity.check(key: [1].span, value: [UInt8(offset)].span, offset: offset) }
        let last = try identity.confirmedRecord(path: "file")
        return AppliedProgress(offset: 10, completeUntil: WallTime(milliseconds: 5), lastRecord: last)
    }

    @Test func `reading starts at the last record, and the same record confirms the topic`() throws {
        let applied = try identity(3, 7)
        #expect(AppliedProgress(parsing: applied.bytes.span) == applied)
        var again = TopicIdentityCheck(progress: applied)
        #expect(again.startOffset == 7)
        again.check(key: [1].span, value: [3].span, offset: 3)
        #expect(again.startOffset == 7, "an older one proves nothing")
        again.check(key: [1].span, value: [7].span, offset: 7)
        #expect(again.startOffset == nil)
        again.check(key: [1].span, value: nil, offset: 12)
        #expect(try again.confirmedRecord(path: "file")?.offset == 12)
    }

    @Test func `a different or missing record means another topic`() throws {
        func doubt(_ read: (inout TopicIdentityCheck) -> Void) throws -> Bool {
            var again = TopicIdentityCheck(progress: try identity(3, 7))
            read(&again)
            do { _ = try again.confirmedRecord(path: "file") } catch { return error.isCorruption }
            return false
        }
        #expect(try doubt { $0.check(key: [1].span, value: [8].span, offset: 7) })
        #expect(try doubt { $0.check(key: [2].span, value: [7].span, offset: 7) })
        #expect(try doubt { $0.check(key: [1].span, value: nil, offset: 7) })
        #expect(try doubt { $0.check(key: nil, value: [7].span, offset: 7) })
        #expect(try doubt { $0.check(key: [1].span, value: [7].span, offset: 8) })
        #expect(try doubt { $0.recordRead(upTo: 8) })
        #expect(try !doubt { $0.recordRead(upTo: 7) })
        #expect(try !doubt { _ in }, "nothing was read yet")
    }

    @Test func `a file without an applied record has nothing to compare`() throws {
        var empty = TopicIdentityCheck(
            progress: AppliedProgress(offset: 4, completeUntil: WallTime(milliseconds: 5)))
        #expect(empty.startOffset == nil)
        empty.recordRead(upTo: 9)
        #expect(try empty.confirmedRecord(path: "file") == nil)
    }
}
