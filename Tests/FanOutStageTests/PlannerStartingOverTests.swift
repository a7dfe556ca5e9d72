import FanOut
import FanOutTesting
import IngestTesting
import Kafka
import KafkaTesting
import Lifecycle
import ProcessTesting
import StageSupport
import Telemetry
import Testing
import Topics

/// After each failure a running planner reads everything again from the committed offsets, once.
@Suite struct PlannerStartingOverTests {
    @Test(arguments: [
        PlannerStep.transactionBegun, .groupsSent, .expansionsSent, .progressSent,
        .schedulesSent, .offsetsSent,
    ])
    func `a transaction that fails at any step causes one start over, and no send is planned twice`(
        step: PlannerStep
    ) async throws {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 2)
        let directory = try TemporaryDirectory()
        let sender = try RecordWriter(on: bed, to: .sends)
        var generator = SendGenerator(seed: 5)
        for _ in 0..<300 {
            let request = generator.next()
            sender.write(key: request.key, value: request.value)
        }
        #expect(sender.finish())
        let occurrences = TracedLock(0)
        let settings = bed.settings
        let identity = try bed.environment(under: directory.path)
            .identity(of: FanOutService.name, loop: FanOutService.Loop.planner.rawValue)
        let stage = try await PlannerStage(
            bed, directory: directory.path,
            {
                $0.batchSendsMax = 20
                $0.sessionMilliseconds = 45_000
            },
            onStep: { reachedStep in
                guard reachedStep == step else { return }
                let isThird = occurrences.withLock { occurrences in
                    occurrences += 1
                    return occurrences == 3
                }
                // Takes over the stage's transactional id, so that its next request in a transaction is
                // refused.
                if isThird {
                    let otherProducer = try? TransactionalProducer(
                        settings: settings, transactionalID: identity, name: "other", log: .silent,
                        metrics: Metrics())
                    try? otherProducer?.initialize()
                }
            })
        try await eventually("all sends are handled") { stage.handledCount == 300 || stage.failure != nil }
        try await eventually("no send is held") {
            try !TopicContent(of: .groups, in: bed).newestValues.values.contains { row in
                String(decoding: row, as: UTF8.self).contains("\"held\":")
            }
        }
        #expect(stage.failure == nil)
        #expect(stage.startOverCount == 1)
        await stage.stop()
        let fault = try PlannerModel(sends: TopicContent(of: .sends, in: bed), lanes: 2).fault(in: bed)
        #expect(fault == nil, "\(fault ?? "")")
    }
}
