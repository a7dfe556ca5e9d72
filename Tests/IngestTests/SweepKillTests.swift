import Ingest
import IngestTesting
import Kafka
import KafkaTesting
import LiveActivity
import ProcessTesting
import Telemetry
import Testing
import Topics

/// Expiry in the registry uses a transaction like any other change.
@Suite struct SweepKillTests {
    @Test(arguments: [
        IngestStep.sweepBegun, .transactionBegun, .registrySent, .offsetsSent, .committed, .swept,
    ])
    func `a killed sweep is repeated exactly`(step: IngestStep) async throws {
        let cluster = try TestCluster()
        let bed = try IngestBed(cluster.brokers, lanes: 1)
        let directory = try TemporaryDirectory()
        func start(_ death: StageProcess.Death? = nil) throws -> StageProcess {
            try StageProcess(
                .ingest, of: builtProduct("flotilla-bench"), on: bed, data: directory.path,
                sweepMilliseconds: 100,
                death: death)
        }
        let doomed = try start(
            StageProcess.Death(step: step.rawValue, time: 1, after: IngestStep.sweepBegun.rawValue))
        let sender = try ReportSender(bed)
        // A token that expires before it is merged never gets a row.
        sender.send(report(0))
        #expect(sender.finish())
        try await eventually("the stage serves") { try !TopicContent(.registry, bed).newest.isEmpty }
        for number in 1..<200 { sender.send(report(number)) }
        #expect(sender.finish())
        try await eventually("the process met its step") { !doomed.isRunning }
        let last = try start()
        try await eventually("only the start tokens are left") {
            // The stage sweeps only after a young report has confirmed its clock.
            sender.send(
                Report(
                    app: IngestBed.flashApp.id, environment: .production, installation: "another",
                    kind: .heartbeat))
            return try sender.finish() && TopicContent(.registry, bed).newest.count == 100
        }
        last.stop()
        #expect(try await last.process.exitStatus() == 0)
        var model = IngestModel(try TopicContent(.reports, bed), lanes: 1, keys: nil)
        model.sweep(at: WallTime.now().milliseconds)
        let difference = try model.difference(
            registry: TopicContent(.registry, bed), events: TopicContent(.events, bed))
        #expect(difference == nil, "\(difference ?? "")")
    }

    /// Returns a report. Every other one has a start token, which does not expire.
    private func report(_ number: Int) -> Report {
        var report = Report(
            app: IngestBed.flashApp.id, environment: .production, installation: "phone-\(number / 2)",
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
