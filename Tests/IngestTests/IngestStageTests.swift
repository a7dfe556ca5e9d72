import Ingest
import IngestTesting
import Kafka
import KafkaTesting
import LiveActivity
import ProcessTesting
import Testing
import Topics

@Suite struct IngestStageTests {
    @Test func `the rows and events of reports equal the output of the pure merge`() async throws {
        let cluster = try TestCluster()
        let bed = try IngestBed(cluster.brokers, lanes: 4)
        let directory = try TemporaryDirectory()
        let stage = try await Stage(bed, directory: directory.path)
        var mix = ReportMix(installations: 300, seed: 7)
        let sender = try ReportSender(bed)
        for _ in 0..<5000 { sender.send(mix.next()) }
        #expect(sender.finish())
        try await eventually("all reports are handled") { stage.handled == 5000 || stage.failure != nil }
        #expect(stage.failure == nil)
        await stage.stop()
        try judge(bed)
    }
}

/// Compares the topics with the model.
func judge(_ bed: IngestBed) throws {
    let model = IngestModel(try TopicContent(.reports, bed), lanes: bed.layout.lanes, keys: nil)
    let difference = try model.difference(
        registry: TopicContent(.registry, bed), events: TopicContent(.events, bed))
    #expect(!model.registry.isEmpty)
    #expect(difference == nil, "\(difference ?? "")")
}
