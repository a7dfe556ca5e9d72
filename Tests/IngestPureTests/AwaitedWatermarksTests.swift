import Lifecycle
import StageSupport
import Testing

@testable import Kafka

/// Tests of `AwaitedWatermarks`: the queries for the watermarks of partitions that a loop waits for. No Kafka client is
/// involved. The test submits the queries and gives the answers by their numbers.
@Suite struct AwaitedWatermarksTests {
    private let one = TopicPartition("reports", 1)
    private let two = TopicPartition("reports", 2)
    private let watermarks = Watermarks(low: 3, high: 9)

    private func instant(_ milliseconds: Int) -> Instant {
        Instant(nanoseconds: 0).advanced(byMilliseconds: milliseconds)
    }

    /// Submits the query that is due, with this number. Returns its partitions.
    private func ask(
        _ awaited: inout AwaitedWatermarks, as number: UInt64, at milliseconds: Int
    ) -> Set<TopicPartition> {
        var queriedPartitions: Set<TopicPartition> = []
        awaited.submitDueQuery(at: instant(milliseconds)) { query in
            if case .watermarks(let partitions) = query { queriedPartitions = Set(partitions) }
            return OffsetQueryID(number: number)
        }
        return queriedPartitions
    }

    @Test func `all partitions that are due are in one query, and none is queried twice`() {
        var awaited = AwaitedWatermarks()
        awaited.add([one, two], at: instant(10))
        #expect(ask(&awaited, as: 1, at: 9) == [])
        #expect(ask(&awaited, as: 1, at: 10) == [one, two])
        #expect(ask(&awaited, as: 2, at: 10) == [])
        let answers = awaited.handle(
            .watermarks([one: watermarks]), to: OffsetQueryID(number: 1), at: instant(20))
        #expect(answers.map(\.partition) == [one])
        #expect(answers.map(\.watermarks) == [watermarks])
        #expect(answers.map(\.askedAt) == [instant(10)])
        #expect(!awaited.contains(one))
        #expect(awaited.contains(two))
        #expect(!awaited.isEmpty)
    }

    @Test func `an answer to an earlier query counts for nothing`() {
        var awaited = AwaitedWatermarks()
        awaited.add([one], at: instant(0))
        #expect(ask(&awaited, as: 1, at: 0) == [one])
        // The loop asks anew, so the watermarks of the first query are too old for it.
        awaited.add([one], at: instant(5))
        #expect(
            awaited.handle(.watermarks([one: watermarks]), to: OffsetQueryID(number: 1), at: instant(6)) == []
        )
        #expect(ask(&awaited, as: 2, at: 6) == [one])
        #expect(
            awaited.handle(.watermarks([one: watermarks]), to: OffsetQueryID(number: 1), at: instant(7)) == []
        )
        #expect(
            awaited.handle(.watermarks([one: watermarks]), to: OffsetQueryID(number: 2), at: instant(8)).count
                == 1)
        awaited.add([two], at: instant(9))
        #expect(ask(&awaited, as: 3, at: 9) == [two])
        awaited.removeAll()
        #expect(
            awaited.handle(.watermarks([two: watermarks]), to: OffsetQueryID(number: 3), at: instant(9)) == []
        )
    }

    @Test func `a partition whose query failed is queried again after a pause`() {
        var awaited = AwaitedWatermarks()
        awaited.add([one], at: instant(0))
        #expect(ask(&awaited, as: 1, at: 0) == [one])
        let failure = OffsetQueryResult.failed(
            [one, two], KafkaError(action: "ask a leader", code: .leaderNotAvailable))
        #expect(awaited.handle(failure, to: OffsetQueryID(number: 1), at: instant(100)) == [])
        #expect(ask(&awaited, as: 2, at: 100 + AwaitedWatermarks.retryMilliseconds - 1) == [])
        #expect(ask(&awaited, as: 2, at: 100 + AwaitedWatermarks.retryMilliseconds) == [one])
    }

    @Test func `a query without an answer is repeated`() {
        var awaited = AwaitedWatermarks()
        awaited.add([one], at: instant(0))
        #expect(ask(&awaited, as: 1, at: 0) == [one])
        #expect(ask(&awaited, as: 2, at: AwaitedWatermarks.answerMillisecondsMax - 1) == [])
        #expect(ask(&awaited, as: 2, at: AwaitedWatermarks.answerMillisecondsMax) == [one])
    }
}
