import Ingest
import IngestTesting
import Kafka
import KafkaTesting
import LiveActivity
import ProcessTesting
import Simulation
import Testing
import Topics

@Suite struct PoisonTests {
    @Test func `what is no report is set aside raw and with its reason, and stops nothing`() async throws {
        let cluster = try TestCluster()
        let bed = try IngestBed(cluster.brokers, lanes: 2)
        let directory = try TemporaryDirectory()
        let stage = try await Stage(bed, directory: directory.path)
        let seed = UInt64.random(in: 0...999_999)
        var mix = ReportMix(installations: 100, seed: seed)
        var chance = SeededGenerator(seed)
        let sender = try ReportSender(bed)
        for number in 0..<2000 {
            let report = mix.next()
            if number < Poison.kinds.count {
                sender.send(key: report.key, value: Poison.kinds[number])
            } else if chance.below(10) == 0 {
                sender.send(key: report.key, value: Poison.any(&chance))
            } else {
                sender.send(report)
            }
        }
        #expect(sender.finish())
        let model = IngestModel(try TopicContent(.reports, bed), lanes: 2, keys: nil)
        try await eventually("all reports handled") { stage.handled >= 2000 || stage.failure != nil }
        await stage.stop()
        #expect(stage.failure == nil)
        try judge(bed)
        let letters = try TopicContent(.deadLetters, bed)
        let reports = try TopicContent(.reports, bed)
        #expect(model.misfits.count >= Poison.kinds.count, "seed \(seed)")
        var codes = Set<String>()
        for letter in letters.records {
            let place = (letter.headers["flotilla-dead-partition"], letter.headers["flotilla-dead-offset"])
            let origin = reports.records.first {
                "\($0.partition)" == place.0 && "\($0.offset)" == place.1
            }
            #expect(origin?.value == letter.value && origin?.key == letter.key, "seed \(seed)")
            codes.insert(letter.headers["flotilla-dead-code"] ?? "none")
        }
        #expect(codes.isSuperset(of: ["empty", "unknown_version", "unknown_app"]), "\(codes)")
    }

    @Test func `a report in the wrong partition is forwarded and counts once`() async throws {
        let cluster = try TestCluster()
        let bed = try IngestBed(cluster.brokers, lanes: 3)
        let directory = try TemporaryDirectory()
        let stage = try await Stage(bed, directory: directory.path)
        let sender = try ReportSender(bed)
        var report = Report(
            app: IngestBed.app.id, environment: .production, installation: "p", kind: .startToken)
        report.token = String(repeating: "ab", count: 32)
        let home = Int32(Murmur2.partition(of: report.key.span, of: 3))
        sender.send(key: report.key, value: report.encoded(), partition: (home + 1) % 3)
        #expect(sender.finish())
        try await eventually("the report at home") { stage.handled == 2 || stage.failure != nil }
        await stage.stop()
        #expect(stage.metric("flotilla_ingest_forwarded_total") == 1)
        #expect(stage.metric("flotilla_ingest_records_total{outcome=\"merged\"}") == 1)
        let at = try TopicContent(.reports, bed).records.map(\.partition)
        #expect(at.contains(home))
        try judge(bed)
    }
}
