import Lifecycle
import Testing

@testable import Kafka

@Suite struct StalledTransactionsTests {
    private let start = Instant(nanoseconds: 1_000_000_000_000)
    private let one = TopicPartition("out", 1)
    private let two = TopicPartition("out", 2)

    /// A value whose changes a test can expect in one line.
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
            #expect(subject.stall([one], at: start))
        }
        #expect(!subject.stall([two], at: start))
        #expect(subject.stalled.partitions == [one])
        #expect(subject.stalled.currentID == StalledTransactions.idCount - 1)
    }

    @Test func `a partition recovers when its transaction has ended and the pause is over`() {
        let subject = Subject()
        #expect(subject.stall([one, two], at: start))
        #expect(subject.takeRecovered(at: time(after: 5000)) == [], "the transaction has not ended")
        subject.stalled.markEnded(0)
        #expect(subject.takeRecovered(at: time(after: 999)) == [], "the pause is not over")
        let recovered = subject.takeRecovered(at: time(after: 1000))
        #expect(recovered.map(\.partitions) == [[one, two]])
        #expect(subject.stalled.partitions.isEmpty && subject.stalled.stalls.isEmpty)
        #expect(subject.stalled.currentID == 0, "the usual id is used again")
    }

    @Test func `a partition that is in another stalled transaction stays unavailable`() {
        let subject = Subject()
        #expect(subject.stall([one], at: start))
        #expect(subject.stall([one, two], at: start))
        subject.stalled.markEnded(0)
        #expect(subject.takeRecovered(at: time(after: 10_000)).map(\.id) == [0])
        #expect(subject.stalled.partitions == [one, two])
    }

    @Test func `the pause grows while a partition fails again and again`() {
        let subject = Subject()
        var now = start
        for pause in StalledTransactions.pausesMilliseconds + [10_000] {
            #expect(subject.stall([one], at: now))
            subject.stalled.markEnded(0)
            #expect(subject.takeRecovered(at: now.advanced(byMilliseconds: pause - 1)) == [])
            now = now.advanced(byMilliseconds: pause)
            #expect(subject.takeRecovered(at: now).count == 1)
        }
        now = now.advanced(byMilliseconds: StalledTransactions.resetAfterMilliseconds)
        #expect(subject.stall([one], at: now))
        #expect(subject.stalled.stalls.map(\.retryAt) == [now.advanced(byMilliseconds: 1000)])
    }
}
