internal import HTTPServer
internal import JSON
internal import Kafka
internal import Lifecycle
internal import RecordFormat
internal import Schedules
internal import Sends
package import Telemetry
internal import Topics

/// The calls of an operator that wait for another stage, as long as a gateway does: those that list and cancel schedules,
/// and sends with an idempotency key or with `ifVersion`.
extension OperatorSends {
    private static let pollMilliseconds: Int32 = 50
    private static let recordsPerPollMax = 1000
    private static let closeMillisecondsMax = 500

    /// Returns the answer of `GET` or `DELETE /v1/schedules`, as JSON.
    ///
    /// - Parameter query: The same query parameters as in the HTTP call.
    package func schedules(
        matching query: [(name: String, value: String)], of app: String, cancelling: Bool, now: WallTime
    ) throws -> [UInt8] {
        let decider = ScheduleDecider(lanes: layout.lanes)
        let context = try makeContext(of: app, query: query, now: now)
        let decision = try cancelling ? decider.cancel(in: context) : decider.list(in: context)
        guard case .askStage(let request) = decision else {
            preconditionFailure("a call about schedules asks the scheduler")
        }
        return try askStage(request).body
    }

    /// Stores a request to another stage and returns the answer. Throws a refusal if the stage refuses the request, or
    /// does not reply to a query.
    func askStage(_ request: StageRequest) throws -> HTTPResponse {
        // Any partition will do, because the request names it. The reply comes after its present end.
        let partition = TopicPartition(
            layout.name(of: .replies), Int32.random(in: 0..<Int32(layout.partitionCount(of: .replies))))
        let consumer = try openConsumer(atEndOf: partition)
        defer { _ = consumer.close(withinMilliseconds: Self.closeMillisecondsMax) }
        let name = PendingReplies<Void>.makeName()
        let replyTo = ReplyAddress(partition: partition.partition, request: name)
        try store(request.records(replyTo: replyTo))
        let reply = awaitReply(named: name, on: consumer, withinMilliseconds: request.waitMilliseconds)
        let response = request.makeResponse(reply)
        guard response.status < 300 else { throw try Self.refusal(from: response) }
        return response
    }

    private func openConsumer(atEndOf partition: TopicPartition) throws -> Consumer {
        var options = ConsumerOptions(membership: .manual)
        options.outOfRange = .earliest
        let consumer = try Consumer(
            settings: settings, options: options, name: "replies", log: .silent, metrics: metrics)
        do {
            let end = try consumer.watermarks(of: partition).high
            try consumer.assign(startingAt: [PartitionStart(partition: partition, position: .offset(end))])
            return consumer
        } catch {
            _ = consumer.close(withinMilliseconds: Self.closeMillisecondsMax)
            throw error
        }
    }

    /// Waits for the reply with this name. Returns nil if none comes in time.
    private func awaitReply(
        named name: String, on consumer: Consumer, withinMilliseconds milliseconds: Int
    ) -> GatewayReply.Outcome? {
        let deadline = Instant.now().advanced(byMilliseconds: milliseconds)
        let reader = JSONReader()
        var batch = RecordBatch(recordsMax: Self.recordsPerPollMax)
        while Instant.now() < deadline {
            _ = consumer.poll(into: &batch, waitMilliseconds: Self.pollMilliseconds)
            defer { batch.clear() }
            for index in 0..<batch.count {
                guard let value = [UInt8](copying: batch[index].value),
                    let reply = try? GatewayReply.decode(value, with: reader), reply.request == name
                else { continue }
                return reply.outcome
            }
        }
        return nil
    }

    /// Returns the refusal that an error response describes.
    private static func refusal(from response: HTTPResponse) throws -> RefusedRequest {
        try JSONReader().read(response.body) { root in
            let error = root.object()["error"].object()
            return RefusedRequest(
                [RequestProblem(code: error["code"].string(), at: "", message: error["message"].string())],
                status: response.status)
        }
    }
}
