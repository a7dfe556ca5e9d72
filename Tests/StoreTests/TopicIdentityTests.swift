import Telemetry
import Testing

@testable import Store

struct TopicIdentityTests {
    private func identity(_ taken: Int64...) throws -> Applied {
        var identity = TopicIdentity(nil)
        for offset in taken { identity.hear([1].span, [UInt8(offset)].span, offset: offset) }
        let last = try identity.confirmed("file")
        return Applied(offset: 10, asOf: WallTime(milliseconds: 5), last: last)
    }

    @Test func `reading starts at the last record, and the same record confirms the topic`() throws {
        let applied = try identity(3, 7)
        #expect(Applied(applied.bytes.span) == applied)
        var again = TopicIdentity(applied)
        #expect(again.start == 7)
        again.hear([1].span, [3].span, offset: 3)
        #expect(again.start == 7, "an older one proves nothing")
        again.hear([1].span, [7].span, offset: 7)
        #expect(again.start == nil)
        again.hear([1].span, nil, offset: 12)
        #expect(try again.confirmed("file")?.offset == 12)
    }

    @Test func `a different or missing record means another topic`() throws {
        func doubt(_ read: (inout TopicIdentity) -> Void) throws -> Bool {
            var again = TopicIdentity(try identity(3, 7))
            read(&again)
            do { _ = try again.confirmed("file") } catch { return error.isCorruption }
            return false
        }
        #expect(try doubt { $0.hear([1].span, [8].span, offset: 7) })
        #expect(try doubt { $0.hear([2].span, [7].span, offset: 7) })
        #expect(try doubt { $0.hear([1].span, nil, offset: 7) })
        #expect(try doubt { $0.hear(nil, [7].span, offset: 7) })
        #expect(try doubt { $0.hear([1].span, [7].span, offset: 8) })
        #expect(try doubt { $0.reached(8) })
        #expect(try !doubt { $0.reached(7) })
        #expect(try !doubt { _ in }, "nothing was read yet")
    }

    @Test func `a file without an applied record has nothing to compare`() throws {
        var empty = TopicIdentity(Applied(offset: 4, asOf: WallTime(milliseconds: 5)))
        #expect(empty.start == nil)
        empty.reached(9)
        #expect(try empty.confirmed("file") == nil)
    }
}
