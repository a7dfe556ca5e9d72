import Lifecycle
import Testing

@testable import Gateway

struct PendingRepliesTests {
    private let dawn = Instant.now()

    @Test func `an answered request is removed, and a foreign name matches no request`() {
        var waiting = PendingReplies<Int>()
        waiting.add(1, named: "a")
        #expect(waiting.remove(named: "b") == nil)
        #expect(waiting.remove(named: "a") == 1 && waiting.remove(named: "a") == nil)
        // The acknowledgement may come after the reply.
        waiting.startWait(for: "a", at: dawn)
        #expect(waiting.nextDeadline() == nil && waiting.count == 0)
    }

    @Test func `the wait starts when the order is stored, and each request is overdue once`() {
        var waiting = PendingReplies<Int>()
        for (number, name) in ["a", "b", "c"].enumerated() { waiting.add(number, named: name) }
        waiting.startWait(for: "b", at: dawn)
        waiting.startWait(for: "a", at: dawn.advanced(byMilliseconds: 1))
        let limit = GatewayLimits.schedulerReplyMilliseconds
        #expect(waiting.nextDeadline() == dawn.advanced(byMilliseconds: limit))
        #expect(waiting.removeOverdue(at: dawn.advanced(byMilliseconds: limit - 1)) == [])
        #expect(waiting.removeOverdue(at: dawn.advanced(byMilliseconds: limit)) == [1])
        #expect(waiting.remove(named: "b") == nil, "the reply came too late")
        #expect(waiting.remove(named: "a") == 0)
        #expect(waiting.nextDeadline() == nil, "answered requests are skipped")
        #expect(waiting.removeOverdue(at: dawn.advanced(byMilliseconds: 10 * limit)) == [])
        #expect(waiting.count == 1, "the request whose order is not stored yet still waits")
    }
}
