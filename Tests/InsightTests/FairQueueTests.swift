import Lifecycle
import StageSupport
import Testing

/// The order in which the queries of several callers are read.
struct FairQueueTests {
    private static let start = Instant.now()

    private static func time(_ milliseconds: Int) -> Instant { start.advanced(byMilliseconds: milliseconds) }

    private static func queue(perCaller: Int = 100, callers: Int = 100) -> FairQueue<Int> {
        FairQueue(limits: .init(waitingPerCallerMax: perCaller, waitingMax: 1000, callersMax: callers))
    }

    @Test func `the caller with the least use comes first, and its own queries stay in order`() {
        var queue = Self.queue()
        for item in 0..<3 { _ = queue.add(item, of: "busy", at: Self.start) }
        #expect(queue.takeNext(at: Self.start)?.item == 0)
        queue.finish("busy", nanoseconds: 1e9, at: Self.time(1000))
        _ = queue.add(10, of: "calm", at: Self.time(1000))
        #expect(queue.takeNext(at: Self.time(1000))?.item == 10)
        queue.finish("calm", nanoseconds: 1e6, at: Self.time(1001))
        _ = queue.add(11, of: "calm", at: Self.time(1001))
        #expect(queue.takeNext(at: Self.time(1001))?.item == 11)
        #expect(queue.takeNext(at: Self.time(1001))?.item == 1)
    }

    @Test func `a caller has one query in work at a time`() {
        var queue = Self.queue()
        for item in 0..<2 { _ = queue.add(item, of: "busy", at: Self.start) }
        #expect(queue.takeNext(at: Self.start)?.item == 0)
        #expect(queue.takeNext(at: Self.start) == nil)
        queue.finish("busy", nanoseconds: 1, at: Self.start)
        #expect(queue.takeNext(at: Self.start)?.item == 1)
    }

    @Test func `old use counts less than new use`() {
        var queue = Self.queue()
        for name in ["old", "new"] { _ = queue.add(0, of: name, at: Self.start) }
        // Among callers with the same use the name decides.
        #expect(queue.takeNext(at: Self.start)?.caller == "new")
        #expect(queue.takeNext(at: Self.start)?.caller == "old")
        queue.finish("old", nanoseconds: 4e9, at: Self.start)
        let later = Self.time(3 * FairQueue<Int>.halfLifeMilliseconds)
        queue.finish("new", nanoseconds: 1e9, at: later)
        for name in ["old", "new"] { _ = queue.add(1, of: name, at: later) }
        // Three half-lives make half a second of the four.
        #expect(queue.takeNext(at: later)?.caller == "old")
    }

    @Test func `a caller with too many waiting queries is refused, and no other caller`() {
        var queue = Self.queue(perCaller: 2)
        #expect((0..<3).map { queue.add($0, of: "busy", at: Self.start) } == [true, true, false])
        let isCalmAdded = queue.add(9, of: "calm", at: Self.start)
        #expect(isCalmAdded)
        #expect(queue.waitingCount == 3)
        #expect(queue.removeAll().sorted() == [0, 1, 9] && queue.waitingCount == 0)
    }

    @Test func `a caller with a query is not forgotten when there are too many callers`() {
        var queue = Self.queue(callers: 10)
        _ = queue.add(7, of: "waiting", at: Self.start)
        for number in 0..<100 {
            let name = "caller-\(number)"
            _ = queue.add(number, of: name, at: Self.start)
            // "waiting" has used nothing, so its query is taken in the first round. It stays in work until the loop is
            // over.
            while let next = queue.takeNext(at: Self.start), next.caller != "waiting" {
                queue.finish(next.caller, nanoseconds: 1e6, at: Self.start)
            }
        }
        #expect(queue.waitingCount == 0)
        queue.finish("waiting", nanoseconds: 1, at: Self.start)
        _ = queue.add(8, of: "waiting", at: Self.start)
        #expect(queue.takeNext(at: Self.start)?.item == 8)
    }
}
