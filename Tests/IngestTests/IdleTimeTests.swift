import IngestTesting
import KafkaTesting
import ProcessTesting
import Testing
import Topics

@Suite(.timeLimit(.minutes(3))) struct IdleTimeTests {
    @Test(arguments: StageEnd.allCases)
    func `an ingest stage that starts after an idle time merges the next reports`(end: StageEnd) async throws
    {
        let cluster = try TestCluster()
        let bed = try IngestBed(cluster.brokers, lanes: 3)
        let directory = try TemporaryDirectory()
        let reports = try ReportSender(bed)
        var mix = ReportMix(installations: 300, seed: 11)
        let stage = try await Stage(bed, directory: directory.path)
        for _ in 0..<50 { reports.send(mix.next()) }
        #expect(reports.finish())
        try await eventually("the first reports are merged") { stage.handled == 50 || stage.failure != nil }
        await stage.stop()
        try await eventually("the idle time has passed") {
            try bed.passIdleTime(after: end, group: "ingest", reading: [.reports])
        }
        let again = try await Stage(bed, directory: directory.path, after: stage)
        for _ in 0..<50 { reports.send(mix.next()) }
        #expect(reports.finish())
        try await eventually("the next reports are merged") { again.handled == 50 || again.failure != nil }
        #expect(again.failure == nil)
        try await eventually("the stage is ready") { again.obstacles == [] }
        await again.stop()
    }
}
