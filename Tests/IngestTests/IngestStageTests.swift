import Ingest
import IngestTesting
import Kafka
import KafkaTesting
import ProcessTesting
import Testing
import Topics

@Suite struct IngestStageTests {
    @Test func `the rows and events of reports equal the output of the pure merge`() async throws {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 4)
        let directory = try TemporaryDirectory()
        let stage = try await Stage(bed, directory: directory.path)
        var mix = ReportGenerator(installations: 300, seed: 7)
        let sender = try RecordWriter(on: bed)
        for _ in 0..<5000 { sender.write(mix.next()) }
        #expect(sender.finish())
        try await eventually("all reports are handled") { stage.handled == 5000 || stage.failure != nil }
        #expect(stage.failure == nil)
        await stage.stop()
        try judge(bed)
    }
}

/// Compares the topics with the model.
func judge(_ bed: TestBed) throws {
    let model = IngestModel(
        reports: try TopicContent(of: .reports, in: bed), lanes: bed.layout.lanes, keys: nil)
    let difference = try model.difference(
        registry: TopicContent(of: .registry, in: bed), events: TopicContent(of: .events, in: bed))
    #expect(!model.registry.isEmpty)
    #expect(difference == nil, "\(difference ?? "")")
}
