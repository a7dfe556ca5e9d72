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

/// A sender whose Kafka goes away, and dead letters that are sent again.
@Suite(.timeLimit(.minutes(5))) struct SenderKafkaTests {
    @Test func `without Kafka pushing stops when the permits are used up, and continues without loss`()
        async throws
    {
        // The test stops the broker, which it cannot do with a given cluster.
        let broker = try StoppableBroker()
        let stand = try SenderStand(
            broker.brokers, script: #"{"rules":[{"delay":{"fixedMilliseconds":20}}]}"#)
        let permits = 40
        let sender = try await RunningSender(stand, slots: "one") {
            $0.limits.permitsMax = permits
            $0.sessionMilliseconds = 30_000
        }
        for lane in 0..<Int32(SenderStand.lanes) {
            for sheet in 0..<4 {
                let first = Int(lane) * 10_000 + sheet * 250
                try stand.write(
                    stand.head(.update, group: "m\(sheet)"), to: first..<first + 250, lane: lane)
            }
        }
        let jobs = SenderStand.lanes * 1_000
        try await eventually("some are pushed") { sender.outcomes(.accepted) > 100 }
        broker.stop()
        try await eventually("the permits are used up") {
            sender.metric("flotilla_sender_in_flight") == Double(permits)
        }
        let requestsWithoutKafka = stand.journal.requests
        #expect(requestsWithoutKafka < jobs, "pushing did not stop")
        try broker.start()
        try await eventually("the rest is pushed") {
            sender.outcomes(.accepted) >= jobs || sender.failure != nil
        }
        #expect(sender.failure == nil)
        await sender.stop()
        let outcomes = try stand.finalOutcomes()
        #expect(outcomes.count == jobs)
        #expect(outcomes.values.allSatisfy { $0 == [.accepted] })
        #expect(stand.journal.requests == jobs)
        #expect(stand.journal.duplicateIDs == 0)
    }

    @Test func `a dead letter that is sent again is pushed under a new name`() async throws {
        let cluster = try TestCluster()
        let stand = try SenderStand(
            cluster.brokers, script: #"{"rules":[{"answer":{"reason":"BadMessageId"}}]}"#)
        let sender = try await RunningSender(stand, slots: "one")
        try stand.write(stand.head(.update), to: 0..<3, lane: 1)
        try stand.write(stand.head(.start), to: 3..<4, lane: 2)
        try await eventually("all are dead letters") { sender.outcomes(.rejected) >= 4 }
        try stand.setScript("{}")
        let deadLetters = DeadLetterTopic(settings: stand.bed.settings, layout: stand.bed.layout)
        let redrive = Redrive(
            deadLetters: deadLetters, filter: DeadLetterFilter(), author: "tester", run: "r1")
        let summary = try redrive.execute { _ in }
        #expect(summary.jobs == 4, "\(summary)")
        try await eventually("all are pushed") { sender.outcomes(.accepted) >= 4 }
        await sender.stop()
        let accepted = try stand.finalOutcomes().filter { $0.value == [.accepted] }
        #expect(accepted.count == 4)
        #expect(accepted.keys.allSatisfy { $0.position.topic == "dead-letters" })
        #expect(
            try Redrive(deadLetters: deadLetters, filter: DeadLetterFilter(), author: "tester", run: "r2")
                .preview()
                .letters == 0)
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
