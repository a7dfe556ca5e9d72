import Foundation
import JSON
import Kafka
import Lifecycle
import RecordFormat
import Schedules
import Sends
import Telemetry
import Topics

/// A stand-in for the scheduler stage. On its own thread it reads the commands that gateways write to `schedules`, and
/// writes the outcomes that the test chooses to `replies`. It ends at `stop`.
final class StandInScheduler: Sendable {
    /// Returns the outcome of a command, or nil for no answer.
    typealias OutcomeOfCommand = @Sendable (ScheduleCommand) -> GatewayReply.Outcome?

    private let received = TracedLock<[ScheduleCommand]>([])
    private let isStopped = TracedLock(false)

    /// The commands that were read so far.
    var commands: [ScheduleCommand] { received.withLock { $0 } }

    init(settings: KafkaSettings, layout: TopicLayout, outcome: @escaping OutcomeOfCommand) {
        Thread.detachNewThread { try? self.serve(settings: settings, layout: layout, outcome: outcome) }
    }

    deinit { isStopped.withLock { $0 = true } }

    func stop() { isStopped.withLock { $0 = true } }

    private func serve(
        settings: KafkaSettings, layout: TopicLayout, outcome outcomeOf: OutcomeOfCommand
    ) throws {
        let consumer = try Consumer(
            settings: settings, options: ConsumerOptions(membership: .manual), name: "test", log: .silent,
            metrics: Metrics())
        defer { _ = consumer.close(withinMilliseconds: 500) }
        let producer = try Producer(settings: settings, name: "test", log: .silent, metrics: Metrics())
        let replies = try producer.topic(named: layout.name(of: .replies))
        try consumer.assign(
            startingAt: (0..<Int32(layout.lanes)).map {
                PartitionStart(
                    partition: TopicPartition(layout.name(of: .schedules), $0), position: .beginning)
            })
        var batch = RecordBatch()
        let reader = JSONReader()
        while !isStopped.withLock({ $0 }) {
            _ = consumer.poll(into: &batch, waitMilliseconds: 20)
            for index in 0..<batch.count {
                guard let value = [UInt8](copying: batch[index].value) else { continue }
                let command = try ScheduleCommand.decode(value, with: reader)
                received.withLock { $0.append(command) }
                guard let replyTo = command.replyTo, let outcome = outcomeOf(command) else { continue }
                let reply = GatewayReply(request: replyTo.request, outcome: outcome).encoded()
                _ = producer.send(
                    to: replies, partition: replyTo.partition, key: nil, value: reply.span, tag: 0)
            }
            batch.clear()
            var deliveries: [Delivery] = []
            _ = producer.flush(withinMilliseconds: 1000, into: &deliveries)
        }
    }
}
