import Lifecycle
import Testing

@testable import Broker

/// A queue of keys with deadlines. The earliest of a key's deadlines counts.
struct DeadlineQueueTests {
    @Test func `keys come in the order of their earliest deadline, once each`() {
        var queue = DeadlineQueue<Int>()
        for (key, nanoseconds) in [(1, 30), (2, 10), (3, 20), (1, 5), (2, 40)] as [(Int, Int64)] {
            queue.schedule(key, at: Instant(nanoseconds: nanoseconds))
        }
        #expect(queue.earliest == Instant(nanoseconds: 5))
        #expect(queue.takeDue(at: Instant(nanoseconds: 15)) == [1, 2])
        #expect(queue.takeDue(at: Instant(nanoseconds: 25)) == [3])
        #expect(queue.takeDue(at: Instant(nanoseconds: 100)) == [])
    }

    @Test func `a removed key is never due`() {
        var queue = DeadlineQueue<Int>()
        queue.schedule(1, at: Instant(nanoseconds: 1))
        queue.remove(1)
        #expect(queue.takeDue(at: Instant(nanoseconds: 9)) == [])
        queue.schedule(1, at: Instant(nanoseconds: 5))
        #expect(queue.takeDue(at: Instant(nanoseconds: 9)) == [1])
    }
}
