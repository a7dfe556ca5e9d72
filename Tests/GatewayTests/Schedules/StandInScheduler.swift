import Foundation
import JSON
import Kafka
import Lifecycle
import RecordFormat
import Schedules
import Telemetry
import Topics

/// A stand-in scheduler that answers orders as a test wants, on its own thread. The real scheduler has its
/// own tests.
final class StandInScheduler: Sendable {
    typealias Answers = @Sendable (ScheduleCommand) -> ScheduleReply.Outcome?

    private let heard = TracedLock<[ScheduleCommand]>([])
    private let isOver = TracedLock(false)

    var orders: [ScheduleCommand] { heard.withLock { $0 } }

    init(_ settings: KafkaSettings, _ layout: TopicLayout, _ answers: @escaping Answers) {
        Thread.detachNewThread { try? self.serve(settings, layout, answers) }
    }

    deinit { isOver.withLock { $0 = true } }

    func stop() { isOver.withLock { $0 = true } }

    private func serve(_ settings: KafkaSettings, _ layout: TopicLayout, _ answers: Answers) throws {
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
        while !isOver.withLock({ $0 }) {
            _ = consumer.poll(into: &batch, waitMilliseconds: 20)
            for index in 0..<batch.count {
                guard let value = [UInt8](copying: batch[index].value) else { continue }
                let order = try ScheduleCommand.decode(value, with: reader)
                heard.withLock { $0.append(order) }
                guard let replyTo = order.replyTo, let answer = answers(order) else { continue }
                let reply = ScheduleReply(request: replyTo.request, outcome: answer).encoded()
                _ = producer.send(
                    to: replies, partition: replyTo.partition, key: nil, value: reply.span, tag: 0)
            }
            batch.clear()
            var deliveries: [Delivery] = []
            _ = producer.flush(withinMilliseconds: 1000, into: &deliveries)
        }
    }
}
