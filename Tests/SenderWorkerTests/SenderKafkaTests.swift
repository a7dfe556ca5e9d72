import Broker
import IngestTesting
import Jobs
import Kafka
import KafkaTesting
import Payloads
import ProcessTesting
import Replay
import Sender
import Testing
import Topics

@testable import APNsSimulator

/// Tests of a sender whose broker stops and starts again, and of dead letters that an operator sends again (a
/// redrive). No job may be lost or pushed twice.
@Suite(.timeLimit(.minutes(5))) struct SenderKafkaTests {
    @Test func `without Kafka pushing stops when the permits are used up, and continues without loss`()
        async throws
    {
        // The test stops the broker, which it cannot do with a given cluster.
        let broker = try StoppableBroker()
        let stand = try SenderStand(
            broker.brokers, script: #"{"rules":[{"delay":{"fixedMilliseconds":50}}]}"#)
        let permits = 40
        for lane in 0..<Int32(SenderStand.laneCount) {
            for sheet in 0..<4 {
                let firstPhone = Int(lane) * 10_000 + sheet * 250
                try stand.write(
                    stand.sheetHead(.update, group: "m\(sheet)"), to: firstPhone..<firstPhone + 250,
                    lane: lane)
            }
        }
        let jobCount = SenderStand.laneCount * 4 * 250
        // All sheets are written before, so that the broker stops long before the last job is pushed.
        let sender = try await RunningSender(on: stand) {
            $0.limits.permitsMax = permits
            $0.sessionMilliseconds = 30_000
        }
        try await eventually("some jobs are pushed") { sender.jobCount(.accepted) > 100 }
        broker.stop()
        try await eventually("the permits are used up") {
            sender.metric("flotilla_sender_in_flight") == Double(permits)
        }
        let requestsWithoutKafka = stand.journal.requests
        #expect(requestsWithoutKafka < jobCount, "pushing did not stop")
        try broker.start()
        try await eventually("all jobs are pushed") {
            sender.jobCount(.accepted) >= jobCount || sender.failure != nil
        }
        #expect(sender.failure == nil)
        await sender.stop()
        let outcomes = try stand.finalOutcomes()
        #expect(outcomes.count == jobCount)
        #expect(outcomes.values.allSatisfy { $0 == [.accepted] })
        #expect(stand.journal.requests == jobCount)
        #expect(stand.journal.duplicateIDs == 0)
    }

    @Test func `each takeover of a lane leaves a marker in its receipts, which is no outcome`() async throws {
        let cluster = try TestCluster()
        let stand = try SenderStand(cluster.brokers)
        var owners: Set<String?> = []
        for run in 1...2 {
            let sender = try await RunningSender(on: stand)
            var lanesOfRun: Set<Int32> = []
            try await eventually("each lane has a marker of this run") {
                let newMarkers = try TopicContent(of: .receipts, in: stand.bed).records.filter {
                    $0.value == nil && !owners.contains($0.headers["takeover"])
                }
                lanesOfRun = Set(newMarkers.map(\.partition))
                return lanesOfRun.count == SenderStand.laneCount || sender.failure != nil
            }
            try await eventually("the sender is ready") { sender.service.readinessProblems == [] }
            await sender.stop()
            #expect(sender.failure == nil)
            for record in try TopicContent(of: .receipts, in: stand.bed).records {
                owners.insert(record.headers["takeover"])
            }
            #expect(owners.count == run && !owners.contains(nil))
        }
        #expect(try stand.finalOutcomes().isEmpty)
    }

    @Test func `a lane whose first jobs were deleted continues at the first existing ones`() async throws {
        let cluster = try TestCluster()
        let stand = try SenderStand(cluster.brokers)
        let lane: Int32 = 0
        for sheet in 0..<2 {
            try stand.write(
                stand.sheetHead(.update, version: 1, group: "m\(sheet)"), to: sheet * 10..<sheet * 10 + 10,
                lane: lane)
        }
        // No sender has committed an offset, so the lane begins at 0.
        try stand.bed.admin.deleteRecords(before: [
            TopicPartition(stand.bed.layout.name(of: .jobs), lane): 1
        ])
        let sender = try await RunningSender(on: stand)
        try await eventually("the existing jobs have their receipts") {
            sender.jobCount(.accepted) >= 10 || sender.failure != nil
        }
        await sender.stop()
        #expect(sender.failure == nil)
        let outcomes = try stand.finalOutcomes()
        #expect(outcomes.count == 10 && outcomes.keys.allSatisfy { $0.position.offset == 1 })
    }

    @Test func `a dead letter that is sent again is pushed as a new job of the topic dead-letters`()
        async throws
    {
        let cluster = try TestCluster()
        let stand = try SenderStand(
            cluster.brokers, script: #"{"rules":[{"answer":{"reason":"BadMessageId"}}]}"#)
        let sender = try await RunningSender(on: stand)
        try stand.write(stand.sheetHead(.update), to: 0..<3, lane: 1)
        try stand.write(stand.sheetHead(.start), to: 3..<4, lane: 2)
        try await eventually("all jobs are dead letters") { sender.jobCount(.rejected) >= 4 }
        try stand.setScript("{}")
        let deadLetters = DeadLetterTopic(settings: stand.bed.settings, layout: stand.bed.layout)
        let redrive = Redrive(
            deadLetters: deadLetters, filter: DeadLetterFilter(), author: "tester", run: "r1")
        let summary = try redrive.execute { _ in }
        #expect(summary.jobs == 4, "\(summary)")
        try await eventually("all jobs are pushed") { sender.jobCount(.accepted) >= 4 }
        await sender.stop()
        let accepted = try stand.finalOutcomes().filter { $0.value == [.accepted] }
        #expect(accepted.count == 4)
        #expect(accepted.keys.allSatisfy { $0.position.topic == "dead-letters" })
        let secondRedrive = Redrive(
            deadLetters: deadLetters, filter: DeadLetterFilter(), author: "tester", run: "r2")
        #expect(try secondRedrive.preview().letters == 0, "a letter would be sent twice")
    }
}

/// An embedded broker that a test stops and starts again with its data.
private final class StoppableBroker {
    private var settings: BrokerSettings
    private var running: RunningBroker?
    let brokers: [String]

    init() throws {
        settings = try BrokerSettings.temporary()
        settings.removesDataAtStop = false
        let broker = try RunningBroker(settings: settings)
        settings.port = broker.port
        brokers = ["\(broker.host):\(broker.port)"]
        running = broker
    }

    deinit {
        stop()
        settings.removesDataAtStop = true
        try? RunningBroker(settings: settings).stop()
    }

    func stop() {
        running?.stop()
        running = nil
    }

    func start() throws { running = try RunningBroker(settings: settings) }
}
