import IngestTesting
import KafkaTesting
import ProcessTesting
import Testing
import Topics

@Suite(.timeLimit(.minutes(3))) struct IdleTimeTests {
    @Test(arguments: StageEnding.allCases)
    func `an ingest stage that starts after an idle time merges the next reports`(end: StageEnding)
        async throws
    {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 3)
        let directory = try TemporaryDirectory()
        let reports = try RecordWriter(on: bed)
        var mix = ReportGenerator(installations: 300, seed: 11)
        let stage = try await Stage(bed, directory: directory.path)
        for _ in 0..<50 { reports.write(mix.next()) }
        #expect(reports.finish())
        try await eventually("the first reports are merged") { stage.handled == 50 || stage.failure != nil }
        await stage.stop()
        try await eventually("the idle time has passed") {
            try bed.simulateIdleTime(after: end, group: "ingest", reading: [.reports])
        }
        let again = try await Stage(bed, directory: directory.path, after: stage)
        for _ in 0..<50 { reports.write(mix.next()) }
        #expect(reports.finish())
        try await eventually("the next reports are merged") { again.handled == 50 || again.failure != nil }
        #expect(again.failure == nil)
        try await eventually("the stage is ready") { again.obstacles == [] }
        await again.stop()
    }
}
