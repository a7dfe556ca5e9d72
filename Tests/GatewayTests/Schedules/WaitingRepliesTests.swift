import Lifecycle
import Testing

@testable import Gateway

struct WaitingRepliesTests {
    private let dawn = Instant.now()

    @Test func `an answered request is removed, and a foreign name matches no request`() {
        var waiting = WaitingReplies<Int>()
        waiting.add(1, as: "a")
        #expect(waiting.take("b") == nil)
        #expect(waiting.take("a") == 1 && waiting.take("a") == nil)
        // The acknowledgement may come after the reply.
        waiting.stored("a", at: dawn)
        #expect(waiting.next() == nil && waiting.count == 0)
    }

    @Test func `the wait starts when the order is stored, and each request is overdue once`() {
        var waiting = WaitingReplies<Int>()
        for (number, name) in ["a", "b", "c"].enumerated() { waiting.add(number, as: name) }
        waiting.stored("b", at: dawn)
        waiting.stored("a", at: dawn.advanced(byMilliseconds: 1))
        let limit = GatewayLimits.replyMilliseconds
        #expect(waiting.next() == dawn.advanced(byMilliseconds: limit))
        #expect(waiting.takeOverdue(at: dawn.advanced(byMilliseconds: limit - 1)) == [])
        #expect(waiting.takeOverdue(at: dawn.advanced(byMilliseconds: limit)) == [1])
        #expect(waiting.take("b") == nil, "the reply came too late")
        #expect(waiting.take("a") == 0)
        #expect(waiting.next() == nil, "answered requests are skipped")
        #expect(waiting.takeOverdue(at: dawn.advanced(byMilliseconds: 10 * limit)) == [])
        #expect(waiting.count == 1, "the request whose order is not stored yet still waits")
    }
}
