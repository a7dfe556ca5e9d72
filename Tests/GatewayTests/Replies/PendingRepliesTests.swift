import Lifecycle
import Testing

@testable import Gateway

/// Requests that wait for the reply of another stage, each under the name that its record carries.
struct PendingRepliesTests {
    private let start = Instant.now()

    @Test func `an answered request is removed, and a foreign name matches no request`() {
        var replies = PendingReplies<Int>()
        replies.add(1, named: "a")
        #expect(replies.remove(named: "b") == nil)
        #expect(replies.remove(named: "a") == 1 && replies.remove(named: "a") == nil)
        // The acknowledgement may come after the reply.
        replies.startWait(for: "a", milliseconds: 1, at: start)
        #expect(replies.nextDeadline() == nil && replies.count == 0)
    }

    @Test func `a later request with a shorter wait is overdue first`() {
        var replies = PendingReplies<Int>()
        for (number, name) in ["long", "short"].enumerated() { replies.add(number, named: name) }
        replies.startWait(for: "long", milliseconds: 2000, at: start)
        replies.startWait(for: "short", milliseconds: 500, at: start.advanced(byMilliseconds: 100))
        #expect(replies.nextDeadline() == start.advanced(byMilliseconds: 600))
        #expect(replies.removeOverdue(at: start.advanced(byMilliseconds: 600)) == [1])
        #expect(replies.nextDeadline() == start.advanced(byMilliseconds: 2000))
    }

    @Test func `the wait starts when the command is stored, and each request is overdue once`() {
        var replies = PendingReplies<Int>()
        for (number, name) in ["a", "b", "c"].enumerated() { replies.add(number, named: name) }
        let limit = 2000
        replies.startWait(for: "b", milliseconds: limit, at: start)
        replies.startWait(for: "a", milliseconds: limit, at: start.advanced(byMilliseconds: 1))
        #expect(replies.nextDeadline() == start.advanced(byMilliseconds: limit))
        #expect(replies.removeOverdue(at: start.advanced(byMilliseconds: limit - 1)) == [])
        #expect(replies.removeOverdue(at: start.advanced(byMilliseconds: limit)) == [1])
        #expect(replies.remove(named: "b") == nil, "the reply came too late")
        #expect(replies.remove(named: "a") == 0)
        #expect(replies.nextDeadline() == nil, "answered requests are skipped")
        #expect(replies.removeOverdue(at: start.advanced(byMilliseconds: 10 * limit)) == [])
        #expect(replies.count == 1, "the request whose command is not stored yet still waits")
    }
}
