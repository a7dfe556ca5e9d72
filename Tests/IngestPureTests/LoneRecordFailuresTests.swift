import Kafka
import StageSupport
import Testing

/// Tests of `LoneRecordFailures`, which counts how often the output of a single record could not be committed.
@Suite struct LoneRecordFailuresTests {
    private let partition = TopicPartition("sends", 3)
    private let large = LoneRecordFailures.largeBytes

    @Test func `a record with a large output is rejected after enough tries alone`() {
        var failures = LoneRecordFailures(triesMax: 3)
        for _ in 0..<2 {
            failures.recordFailure(at: 7, of: partition, outputBytes: large)
            #expect(failures.reasonToReject(recordAt: 7, of: partition) == nil)
        }
        failures.recordFailure(at: 7, of: partition, outputBytes: large)
        let rejection = failures.reasonToReject(recordAt: 7, of: partition)
        #expect(rejection?.code == "never_committed")
        #expect(rejection?.reason.contains("in 3 transactions that took only this record") == true)
        #expect(failures.reasonToReject(recordAt: 8, of: partition) == nil)
        #expect(failures.reasonToReject(recordAt: 7, of: TopicPartition("sends", 4)) == nil)
        failures.recordCommit(of: partition)
        #expect(failures.reasonToReject(recordAt: 7, of: partition) == nil)
    }

    @Test func `a record with a small output waits for the cluster as long as necessary`() {
        var failures = LoneRecordFailures(triesMax: 3)
        for _ in 0..<1000 { failures.recordFailure(at: 7, of: partition, outputBytes: large - 1) }
        #expect(failures.reasonToReject(recordAt: 7, of: partition) == nil)
    }

    @Test func `the tries of different records do not add up`() {
        var failures = LoneRecordFailures(triesMax: 3)
        for offset in Int64(0)..<10 {
            for _ in 0..<2 { failures.recordFailure(at: offset, of: partition, outputBytes: large) }
            #expect(failures.reasonToReject(recordAt: offset, of: partition) == nil)
        }
    }
}
