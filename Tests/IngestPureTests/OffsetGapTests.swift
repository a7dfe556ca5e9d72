import Kafka
import Lifecycle
import StageSupport
import Testing
import Topics

/// Tests of offset gaps: the committed offset of a group lies outside of the partition's records. `OffsetGap` tells
/// whether records may be lost, and `UncommittedEnds` commits the ends of quiet partitions, so that no gap arises.
@Suite struct OffsetGapTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let topic: TopicName
        let committed: Int64
        /// The watermarks of the partition.
        let low: Int64
        let high: Int64
        let verdict: OffsetGap.Assessment

        var testDescription: String { "\(topic) \(committed) of \(low)..<\(high)" }
    }

    @Test(arguments: [
        Case(topic: .sends, committed: 5, low: 5, high: 5, verdict: .inRange),
        Case(topic: .sends, committed: 5, low: 0, high: 9, verdict: .inRange),
        // No writer of these topics uses transactions, so a record had the offset.
        Case(topic: .sends, committed: 5, low: 6, high: 6, verdict: .recordsLost),
        Case(topic: .reports, committed: 5, low: 60, high: 80, verdict: .recordsLost),
        // The writers of these topics use transactions, so a marker can have had the offset. Two offsets are too many.
        Case(topic: .schedulesAuto, committed: 5, low: 6, high: 6, verdict: .transactionMarker),
        Case(topic: .schedulesAuto, committed: 5, low: 7, high: 7, verdict: .recordsLost),
        Case(topic: .expansions, committed: 5, low: 6, high: 6, verdict: .transactionMarker),
        Case(topic: .expansions, committed: 5, low: 600, high: 700, verdict: .expired),
        Case(topic: .jobsLater2m, committed: 5, low: 6, high: 7, verdict: .expired),
        // A topic that was created again, also where its records expire.
        Case(topic: .jobs, committed: 50, low: 0, high: 7, verdict: .logIsShorter),
        Case(topic: .sends, committed: 50, low: 0, high: 7, verdict: .logIsShorter),
    ])
    func `a partition continues only if no record that matters can be lost`(example: Case) {
        let gap = OffsetGap(
            partition: TopicPartition("x", 3), committed: example.committed,
            watermarks: Watermarks(low: example.low, high: example.high))
        #expect(gap.assessment(for: example.topic) == example.verdict)
        #expect(gap.description.contains("x/3"))
        #expect(gap.description.contains("\(example.committed)"))
    }

    @Test func `an end is committed when it has stood for five seconds, and only if it is new`() {
        let start = Instant(nanoseconds: 0)
        let partition = TopicPartition("x", 0)
        var ends = UncommittedEnds(now: start)
        #expect(!ends.isDue(at: start.advanced(byMilliseconds: 10_000)))
        ends.recordEnd(of: partition, at: 8, now: start)
        #expect(!ends.isDue(at: start.advanced(byMilliseconds: 4999)))
        #expect(ends.isDue(at: start.advanced(byMilliseconds: 5000)))
        #expect(ends.end(of: partition, committed: 7) == 8)
        #expect(ends.end(of: partition, committed: nil) == 8)
        #expect(ends.end(of: partition, committed: 8) == nil)
        #expect(ends.end(of: TopicPartition("x", 1), committed: 7) == nil)
        // The partition is busy again.
        ends.recordEnd(of: partition, at: 9, now: start.advanced(byMilliseconds: 4000))
        #expect(!ends.isDue(at: start.advanced(byMilliseconds: 8999)))
        ends.removeEnd(of: partition)
        #expect(ends.end(of: partition, committed: 7) == nil)
    }

    @Test func `all offsets are committed again twice a day`() {
        let start = Instant(nanoseconds: 0)
        var ends = UncommittedEnds(now: start)
        let noon = start.advanced(byMilliseconds: UncommittedEnds.renewalMilliseconds)
        let morning = noon.advanced(byMilliseconds: -1)
        #expect(!ends.isDue(at: morning))
        let renewsEarly = ends.beginRenewalIfDue(at: morning)
        #expect(!renewsEarly)
        #expect(ends.isDue(at: noon))
        let renews = [ends.beginRenewalIfDue(at: noon), ends.beginRenewalIfDue(at: noon)]
        #expect(renews == [true, false])
    }
}
