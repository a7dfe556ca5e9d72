import IngestTesting
import KafkaTesting
import ProcessTesting
import Testing
import Topics

/// Tests of an ingest stage that starts again after a long time without reports. Retention has deleted all reports, so
/// its committed offsets lie at or below the first existing offset.
///
/// Each wait has a separate limit. The limit of the suite also counts the time in which other tests have the threads.
@Suite(.timeLimit(.minutes(10))) struct IdleTimeTests {
    @Test(arguments: StageEnding.allCases)
    func `an ingest stage that starts after an idle time merges the next reports`(ending: StageEnding)
        async throws
    {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 3)
        let directory = try TemporaryDirectory()
        let reports = try RecordWriter(on: bed)
        var generator = ReportGenerator(installations: 300, seed: 11)
        let stage = try await Stage(bed, directory: directory.path)
        for _ in 0..<50 { reports.write(generator.next()) }
        #expect(reports.finish())
        try await eventually("the first reports are merged") {
            stage.handledCount >= 50 || stage.failure != nil
        }
        // The stage also writes reports: claims of tokens, which it reads after the phones' reports.
        try await eventually("all reports are committed") {
            try bed.areEndsCommitted(by: "ingest", of: [.reports])
        }
        await stage.stop()
        try await eventually("the idle time has passed") {
            try bed.simulateIdleTime(after: ending, group: "ingest", reading: [.reports])
        }
        let restarted = try await Stage(bed, directory: directory.path, after: stage)
        for _ in 0..<50 { reports.write(generator.next()) }
        #expect(reports.finish())
        try await eventually("the next reports are merged") {
            restarted.handledCount >= 50 || restarted.failure != nil
        }
        #expect(restarted.failure == nil)
        try await eventually("the stage is ready") { restarted.readinessProblems == [] }
        await restarted.stop()
    }
}
