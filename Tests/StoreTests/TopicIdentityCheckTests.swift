import Telemetry
import Testing

@testable import Store

/// The check that a topic still has the last record that a file has applied. Another record at its offset means that
/// the topic was deleted and created again, so the file is outdated.
struct TopicIdentityCheckTests {
    /// Returns the progress of a file that has applied records at these offsets.
    private func progress(afterRecordsAt offsets: Int64...) throws -> AppliedProgress {
        var check = TopicIdentityCheck(progress: nil)
        for offset in offsets { check.check(key: [1].span, value: [UInt8(offset)].span, offset: offset) }
        let last = try check.confirmedRecord(path: "file")
        return AppliedProgress(offset: 10, completeUntil: WallTime(milliseconds: 5), lastRecord: last)
    }

    @Test func `reading starts at the last record, and the same record confirms the topic`() throws {
        let applied = try progress(afterRecordsAt: 3, 7)
        #expect(AppliedProgress(parsing: applied.bytes.span) == applied)
        var check = TopicIdentityCheck(progress: applied)
        #expect(check.startOffset == 7)
        check.check(key: [1].span, value: [3].span, offset: 3)
        #expect(check.startOffset == 7, "an older record proves nothing")
        check.check(key: [1].span, value: [7].span, offset: 7)
        #expect(check.startOffset == nil)
        check.check(key: [1].span, value: nil, offset: 12)
        #expect(try check.confirmedRecord(path: "file")?.offset == 12)
    }

    @Test func `a different or missing record means another topic`() throws {
        /// Whether the file is doubted after these records.
        func isDoubted(_ read: (inout TopicIdentityCheck) -> Void) throws -> Bool {
            var check = TopicIdentityCheck(progress: try progress(afterRecordsAt: 3, 7))
            read(&check)
            do { _ = try check.confirmedRecord(path: "file") } catch { return error.isCorruption }
            return false
        }
        #expect(try isDoubted { $0.check(key: [1].span, value: [8].span, offset: 7) })
        #expect(try isDoubted { $0.check(key: [2].span, value: [7].span, offset: 7) })
        #expect(try isDoubted { $0.check(key: [1].span, value: nil, offset: 7) })
        #expect(try isDoubted { $0.check(key: nil, value: [7].span, offset: 7) })
        #expect(try isDoubted { $0.check(key: [1].span, value: [7].span, offset: 8) })
        #expect(try isDoubted { $0.recordRead(upTo: 8) })
        #expect(try !isDoubted { $0.recordRead(upTo: 7) })
        #expect(try !isDoubted { _ in }, "nothing was read yet")
    }

    @Test func `a file without an applied record has nothing to compare`() throws {
        var empty = TopicIdentityCheck(
            progress: AppliedProgress(offset: 4, completeUntil: WallTime(milliseconds: 5)))
        #expect(empty.startOffset == nil)
        empty.recordRead(upTo: 9)
        #expect(try empty.confirmedRecord(path: "file") == nil)
    }
}
