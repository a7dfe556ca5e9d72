import Lifecycle
import Testing

@testable import Gateway

struct WaitingRepliesTests {
    private let dawn = Instant.now()

    @Test func `who has its answer is not asked about again, and a name of others is nobody's`() {
        var waiting = WaitingReplies<Int>()
        waiting.add(1, as: "a")
        #expect(waiting.take("b") == nil)
        #expect(waiting.take("a") == 1 && waiting.take("a") == nil)
        // The acknowledgement may come behind the answer.
        waiting.stored("a", at: dawn)
        #expect(waiting.next() == nil && waiting.count == 0)
    }

    @Test func `the time begins when the order is stored, and each is overdue once`() {
        var waiting = WaitingReplies<Int>()
        for (number, name) in ["a", "b", "c"].enumerated() { waiting.add(number, as: name) }
        waiting.stored("b", at: dawn)
        waiting.stored("a", at: dawn.advanced(byMilliseconds: 1))
        let limit = GatewayLimits.replyMilliseconds
        #expect(waiting.next() == dawn.advanced(byMilliseconds: limit))
        #expect(waiting.takeOverdue(at: dawn.advanced(byMilliseconds: limit - 1)) == [])
        #expect(waiting.takeOverdue(at: dawn.advanced(byMilliseconds: limit)) == [1])
        #expect(waiting.take("b") == nil, "the answer came too late")
        #expect(waiting.take("a") == 0)
        #expect(waiting.next() == nil, "what has its answer is passed over")
        #expect(waiting.takeOverdue(at: dawn.advanced(byMilliseconds: 10 * limit)) == [])
        #expect(waiting.count == 1, "what is not stored yet waits for that")
    }
}
