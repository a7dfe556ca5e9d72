internal import HTTPServer
internal import JSON
internal import Kafka
internal import Lifecycle
internal import LiveActivity
package import Telemetry
internal import Topics

/// List and cancel calls for schedules from the command line. They wait for the scheduler as long as a
/// gateway does.
extension SendsByHand {
    /// Returns the answer of `GET` or `DELETE /v1/schedules`.
    ///
    /// - Parameter query: The same query parameters as in the HTTP call.
    package func schedules(
        _ query: [(name: String, value: String)], of app: String, cancelling: Bool, now: WallTime
    ) throws -> [UInt8] {
        let decision = ScheduleDecision(lanes: layout.lanes)
        let context = try context(of: app, query: query, now: now)
        let made = try cancelling ? decision.cancel(context) : decision.list(context)
        guard case .ask(let question) = made else {
            preconditionFailure("a call about schedules asks the scheduler")
        }
        return try ask(question).body
    }

    /// Stores an order and returns the answer. Throws the scheduler's refusal, or an error if a query gets no
    /// reply.
    func ask(_ question: ScheduleQuestion) throws -> HTTPResponse {
        let place = TopicPartition(
            layout.name(.replies), Int32.random(in: 0..<Int32(layout.partitions(.replies))))
        var options = ConsumerOptions(.manual)
        options.outOfRange = .earliest
        let consumer = try Consumer(settings, options, name: "replies", log: .silent, metrics: metrics)
        defer { _ = consumer.close(withinMilliseconds: 500) }
        let end = try consumer.watermarks(of: place).high
        try consumer.assign([PartitionStart(place, .offset(end))])
        let name = WaitingReplies<Void>.name()
        try store(
            question.records(replyTo: ScheduleOrder.ReplyTo(partition: place.partition, request: name)))
        let response = question.answer(wait(for: name, on: consumer))
        guard response.status < 300 else { throw try Self.refusal(response) }
        return response
    }

    private func wait(for name: String, on consumer: Consumer) -> ScheduleReply.Answer? {
        let until = Instant.now().advanced(byMilliseconds: GatewayLimits.replyMilliseconds)
        let reader = JSONReader()
        var batch = RecordBatch(recordsMax: 1000)
        while Instant.now() < until {
            _ = consumer.poll(into: &batch, waitMilliseconds: 50)
            defer { batch.clear() }
            for index in 0..<batch.count {
                guard let value = [UInt8](copying: batch[index].value),
                    let reply = try? ScheduleReply.decode(value, with: reader), reply.request == name
                else { continue }
                return reply.answer
            }
        }
        return nil
    }

    private static func refusal(_ response: HTTPResponse) throws -> RefusedRequest {
        try JSONReader().read(response.body) { root in
            let error = root.object()["error"].object()
            return RefusedRequest(
                [RequestProblem(error["code"].string(), at: "", error["message"].string())],
                status: response.status)
        }
    }
}
