import Lifecycle
import Testing

@testable import Kafka

/// The transactional ids of a producer. If a transaction stalls because some partitions take no records, the producer
/// continues with the next id. It does not write to these partitions until a pause is over: 1 s after the first
/// failure, 2 s after the next one.
@Suite struct StalledTransactionsTests {
    private let start = Instant(nanoseconds: 1_000_000_000_000)
    private let first = TopicPartition("out", 1)
    private let second = TopicPartition("out", 2)

    /// Holds the value, so that `#expect` can contain a mutating call.
    private final class Subject {
        var stalled = StalledTransactions()

        func stall(_ partitions: Set<TopicPartition>, at now: Instant) -> Bool {
            stalled.stallCurrentID(undelivered: partitions, at: now)
        }

        func takeRecovered(at now: Instant) -> [StalledTransactions.Stall] { stalled.takeRecovered(at: now) }
    }

    private func time(after milliseconds: Int) -> Instant { start.advanced(byMilliseconds: milliseconds) }

    @Test func `the next free id replaces a stalled one, until all are stalled`() {
        let subject = Subject()
        for id in 0..<StalledTransactions.idCount - 1 {
            #expect(subject.stalled.currentID == id)
            #expect(subject.stall([first], at: start))
        }
        #expect(!subject.stall([second], at: start))
        #expect(subject.stalled.partitions == [first])
        #expect(subject.stalled.currentID == StalledTransactions.idCount - 1)
    }

    @Test func `a partition recovers when its transaction has ended and the pause is over`() {
        let subject = Subject()
        #expect(subject.stall([first, second], at: start))
        #expect(subject.takeRecovered(at: time(after: 5000)) == [], "the transaction has not ended")
        subject.stalled.markEnded(0)
        #expect(subject.takeRecovered(at: time(after: 999)) == [], "the pause is not over")
        let recovered = subject.takeRecovered(at: time(after: 1000))
        #expect(recovered.map(\.partitions) == [[first, second]])
        #expect(subject.stalled.partitions.isEmpty && subject.stalled.stalls.isEmpty)
        #expect(subject.stalled.currentID == 0, "the usual id is used again")
    }

    @Test func `a partition that is in another stalled transaction stays unavailable`() {
        let subject = Subject()
        #expect(subject.stall([first], at: start))
        #expect(subject.stall([first, second], at: start))
        subject.stalled.markEnded(0)
        #expect(subject.takeRecovered(at: time(after: 10_000)).map(\.id) == [0])
        #expect(subject.stalled.partitions == [first, second])
    }

    @Test func `the pause grows while a partition fails again and again`() {
        let subject = Subject()
        var now = start
        for pause in StalledTransactions.pausesMilliseconds + [10_000] {
            #expect(subject.stall([first], at: now))
            subject.stalled.markEnded(0)
            #expect(subject.takeRecovered(at: now.advanced(byMilliseconds: pause - 1)) == [])
            now = now.advanced(byMilliseconds: pause)
            #expect(subject.takeRecovered(at: now).count == 1)
        }
        now = now.advanced(byMilliseconds: StalledTransactions.resetAfterMilliseconds)
        #expect(subject.stall([first], at: now))
        #expect(subject.stalled.stalls.map(\.retryAt) == [now.advanced(byMilliseconds: 1000)])
    }

    @Test func `the time for which a partition takes no records does not shorten its next pause`() {
        let subject = Subject()
        #expect(subject.stall([first, second], at: start))
        // The transaction ends only after minutes, and the next one fails at once.
        subject.stalled.markEnded(0)
        let recovered = time(after: 3 * StalledTransactions.resetAfterMilliseconds)
        #expect(subject.takeRecovered(at: recovered).count == 1)
        #expect(subject.stall([first], at: recovered))
        #expect(subject.stalled.stalls.map(\.retryAt) == [recovered.advanced(byMilliseconds: 2000)])
        // The other partition takes records for long enough meanwhile.
        let later = recovered.advanced(byMilliseconds: StalledTransactions.resetAfterMilliseconds)
        #expect(subject.stall([second], at: later))
        #expect(subject.stalled.stalls.last?.retryAt == later.advanced(byMilliseconds: 1000))
    }
}
