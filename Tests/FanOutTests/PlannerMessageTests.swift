import Kafka
import Lifecycle
import Sends
import Telemetry
import Testing
import Topics

@testable import FanOut

/// Notes for senders while `superseded` cannot be written.
@Suite struct PlannerMessageTests {
    @Test(.timeLimit(.minutes(1)))
    func `a planner does not wait for the leader of superseded`() throws {
        let metrics = Metrics()
        // The count of the queue includes events of the client, such as a failed connection.
        let eventsMax = 100
        let queueMessagesMax = ViewScan.rowsMax + eventsMax
        let writer = try PlannerMessageWriter(
            kafka: KafkaSettings(brokers: ["127.0.0.1:1"]), layout: TopicLayout(), log: .silent,
            metrics: metrics, queueMessagesMax: queueMessagesMax)
        #expect(writer.hasSpaceForPage)
        let began = Instant.now()
        let lost = 500
        for number in 0..<queueMessagesMax + lost {
            writer.send(
                SupersededVersions(
                    app: "shop", group: "g\(number)", updateVersion: Int64(number + 1), endVersion: 0))
        }
        // A full queue has space again after the producer has given up its notes, 30 seconds later.
        #expect(Instant.now().milliseconds(since: began) < 15_000)
        #expect(!writer.hasSpaceForPage)
        #expect(metrics.render().contains("\nflotilla_fan_out_lost_superseded_notes_total \(lost)\n"))
        #expect(!writer.poll(at: .now()), "nothing is repeated while notes wait")
    }

    @Test func `lost notes are repeated once, when the queue is empty, and not at once again`() {
        let start = Instant(nanoseconds: 0)
        var lost = LostNotes()
        func beginsRepetition(afterMilliseconds milliseconds: Int, isQueueEmpty: Bool = true) -> Bool {
            lost.beginRepetitionIfDue(
                at: start.advanced(byMilliseconds: milliseconds), isQueueEmpty: isQueueEmpty)
        }
        #expect(!beginsRepetition(afterMilliseconds: 0))
        lost.noteLoss()
        #expect(!beginsRepetition(afterMilliseconds: 0, isQueueEmpty: false))
        #expect(beginsRepetition(afterMilliseconds: 0))
        #expect(!beginsRepetition(afterMilliseconds: 0))
        lost.noteLoss()
        #expect(!beginsRepetition(afterMilliseconds: 29_999))
        #expect(beginsRepetition(afterMilliseconds: 30_000))
    }
}
