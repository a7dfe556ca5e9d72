import CatalogRecords
import Identifiers
import Ingest
import IngestTesting
import InstallationRecords
import Kafka
import KafkaTesting
import ProcessTesting
import Telemetry
import Testing
import Topics

/// The sweep, which deletes expired tokens, uses a transaction like any other change. A kill at any of its steps loses
/// and repeats nothing.
@Suite struct SweepKillTests {
    /// Half of the reports have start tokens.
    private static let reportCount = 200

    @Test(arguments: [
        IngestStep.sweepStarted, .transactionBegun, .registrySent, .offsetsSent, .committed, .sweepCommitted,
    ])
    func `a killed sweep is repeated exactly`(step: IngestStep) async throws {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 1)
        let directory = try TemporaryDirectory()
        func start(_ halt: StageProcess.PlannedHalt? = nil) throws -> StageProcess {
            try StageProcess(
                .ingest, of: builtProductPath(named: "flotilla-bench"), on: bed, data: directory.path,
                sweepMilliseconds: 100, halt: halt)
        }
        let killed = try start(
            StageProcess.PlannedHalt(
                .death, atStep: step.rawValue, occurrence: 1, after: IngestStep.sweepStarted.rawValue))
        let writer = try RecordWriter(on: bed)
        // The update tokens live for three seconds, and a token that expires before it is merged gets no row. So the
        // stage must serve before they are reported. The first report has a start token, whose row shows that it serves.
        writer.write(report(0))
        #expect(writer.finish())
        try await eventually("the stage serves") {
            try !TopicContent(of: .registry, in: bed).newestValues.isEmpty
        }
        for number in 1..<Self.reportCount { writer.write(report(number)) }
        #expect(writer.finish())
        try await eventually("the process died at its step") { !killed.isRunning }
        let successor = try start()
        try await eventually("only the start tokens are left") {
            // The stage sweeps only after a young report has confirmed its clock.
            writer.write(
                Report(
                    app: TestBed.shortTokenApp.id, environment: .production, installation: "another",
                    kind: .heartbeat))
            let isStored = writer.finish()
            let rowCount = try TopicContent(of: .registry, in: bed).newestValues.count
            return isStored && rowCount == Self.reportCount / 2
        }
        successor.stop()
        #expect(try await successor.process.exitStatus() == 0)
        var model = IngestModel(reports: try TopicContent(of: .reports, in: bed), lanes: 1, keys: nil)
        model.sweep(at: WallTime.now().milliseconds)
        let difference = try model.difference(
            registry: TopicContent(of: .registry, in: bed), events: TopicContent(of: .events, in: bed))
        #expect(difference == nil, "\(difference ?? "")")
    }

    /// Returns a report. Reports with an even number have a start token, which does not expire. The others have an update
    /// token.
    private func report(_ number: Int) -> Report {
        var report = Report(
            app: TestBed.shortTokenApp.id, environment: .production, installation: "phone-\(number / 2)",
            kind: number.isMultiple(of: 2) ? .startToken : .updateToken)
        report.attributesType = "FlashAttributes"
        report.token = String(repeating: "ab", count: 30) + String(1000 + number)
        if report.kind == .updateToken {
            report.activity = "activity-\(number)"
            report.group = "match"
        }
        return report
    }
}
