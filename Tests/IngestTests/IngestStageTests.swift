import Ingest
import IngestTesting
import Kafka
import KafkaTesting
import ProcessTesting
import Testing
import Topics

/// The stage on a real cluster, without faults.
@Suite struct IngestStageTests {
    @Test func `the rows and events of reports equal the output of the pure merge`() async throws {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 4)
        let directory = try TemporaryDirectory()
        let stage = try await Stage(bed, directory: directory.path)
        var generator = ReportGenerator(installations: 300, seed: 7)
        let writer = try RecordWriter(on: bed)
        for _ in 0..<5000 { writer.write(generator.next()) }
        #expect(writer.finish())
        try await eventually("all reports are handled") { stage.handledCount == 5000 || stage.failure != nil }
        #expect(stage.failure == nil)
        await stage.stop()
        try expectModel(in: bed)
    }
}

/// Expects `registry` and `events` to equal the model of `reports`.
func expectModel(in bed: TestBed) throws {
    let model = IngestModel(
        reports: try TopicContent(of: .reports, in: bed), lanes: bed.layout.lanes, keys: nil)
    let difference = try model.difference(
        registry: TopicContent(of: .registry, in: bed), events: TopicContent(of: .events, in: bed))
    #expect(!model.registry.isEmpty)
    #expect(difference == nil, "\(difference ?? "")")
}
