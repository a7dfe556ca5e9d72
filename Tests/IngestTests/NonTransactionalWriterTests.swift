import IngestTesting
import Kafka
import KafkaTesting
import Lifecycle
import ProcessTesting
import StageSupport
import Telemetry
import Testing
import Topics

/// Tests of `NonTransactionalWriter` while the partition of its dead letters takes no records.
@Suite struct NonTransactionalWriterTests {
    @Test func `a loop waits for a limited time for dead letters that cannot be stored`()
        async throws
    {
        let unavailable = UnavailablePartitions()
        let cluster = try TestCluster(injecting: unavailable)
        let bed = try TestBed(brokers: cluster.brokers, lanes: 1)
        let writer = NonTransactionalWriter(
            kafka: bed.settings, layout: bed.layout, name: "test", log: .silent, metrics: Metrics())
        let topic = bed.layout.name(of: .deadLetters)
        var headers = RecordHeaders(capacity: 0)
        let value = Array("x".utf8)
        unavailable.refuse(topic, partition: 0)
        let began = Instant.now()
        writer.send(to: topic, partition: 0, key: nil, value: value.span, headers: &headers)
        let problem = writer.waitForAcknowledgements()
        #expect(problem == .late(1))
        // The limit of the wait, and a second for a busy machine.
        #expect(
            Instant.now().milliseconds(since: began) < NonTransactionalWriter.waitMillisecondsMax + 1000)
        unavailable.acceptAll()
        try await eventually("the record is stored") { writer.waitForAcknowledgements() == nil }
        #expect(try TopicContent(of: .deadLetters, in: bed).records.count == 1)
    }
}
