internal import HTTPClient
internal import HTTPServer
internal import LiveActivity

/// `/v1/sends`.
struct SendsEndpoint: Sendable {
    let entrance: Entrance
    let worker: RequestWorker
    let lookup: SendLookup
    let relay: InsightRelay
    let lanes: Int

    private static let path = "/v1/sends"
    private static let onePath = "/v1/sends/{id}"
    /// The largest integer that programs with floating-point numbers represent exactly.
    private static let timeMax: Int64 = 1 << 53

    func add(to routes: inout HTTPRoutes) {
        let (entrance, worker) = (entrance, worker)
        let decision = SendDecision(route: Self.path, fields: .own, lanes: lanes) { root, context in
            SendBody.draft(root, now: context.now)
        }
        routes.onJudged(.post, Self.path, bodyBytesMax: GatewayLimits.sendBytesMax) { request in
            entrance.judge(request, for: .send) { incoming in
                worker.take(incoming, about: .send) { context throws(RefusedRequest) in
                    try decision.decide(context)
                }
            }
        }
        routes.onJudged(.get, Self.onePath) { request in
            entrance.judge(request, for: .read) { incoming in
                find(incoming) { id, progress in report(id, progress, for: incoming) }
            }
        }
        routes.onJudged(.delete, Self.onePath) { request in
            entrance.judge(request, for: .send) { incoming in
                find(incoming) { id, progress in cancel(id, progress, for: incoming) }
            }
        }
    }

    /// Finds the send or answers that it is unknown. Returns false if too many lookups wait.
    private func find(
        _ incoming: Incoming, then: @escaping @Sendable (SendID, SendProgress) -> Void
    ) -> Bool {
        let (request, reply) = (incoming.request, incoming.reply)
        guard let id = request.parameters["id"].flatMap({ SendID($0, lanes: lanes) }) else {
            reply.send(SendAnswer.unknown)
            return true
        }
        let time: Int64?
        do throws(RefusedRequest) {
            time = try Self.time(in: request.query)
        } catch {
            reply.send(error.response)
            return true
        }
        return lookup.find(id, of: incoming.visitor.app.id, since: time) { found in
            switch found {
            case .send(let progress): then(id, progress)
            case .nothing: reply.send(SendAnswer.unknown)
            case .notInTime: reply.send(SendAnswer.notFoundInTime)
            case .unavailable: reply.send(Unavailable.unreachable)
            }
        }
    }

    /// Returns the `at` parameter: the time at which the send was accepted.
    private static func time(in query: [(name: String, value: String)]) throws(RefusedRequest) -> Int64? {
        var problems: [RequestProblem] = []
        var time: Int64?
        for (name, value) in query {
            if name != "at" {
                problems.append(
                    RequestProblem("unknown_field", at: name, "is not a parameter of this call; use at"))
            } else if time == nil, let given = Int64(value), (0...timeMax).contains(given) {
                time = given
            } else {
                problems.append(
                    RequestProblem("invalid", at: "at", "must be milliseconds since 1970 and occur once"))
            }
        }
        if problems.isEmpty { return time }
        throw RefusedRequest(problems)
    }

    /// Answers with the records of planner and lanes, and with the insight stage's report about the jobs.
    private func report(_ id: SendID, _ progress: SendProgress, for incoming: Incoming) {
        let call = InsightCall(.report, app: incoming.visitor.app.id, id: id.text)
        let isTaken = relay.ask(call) { answer in
            incoming.reply.send(progress.response(report: answer?.status == 200 ? answer?.body : nil))
        }
        if !isTaken { incoming.reply.send(progress.response(report: nil)) }
    }

    private func cancel(
        _ id: SendID, _ progress: SendProgress, for incoming: Incoming
    ) {
        guard let key = progress.key else { return incoming.reply.send(SendAnswer.unknown) }
        let isTaken = worker.take(incoming, about: .cancel) {
            context throws(RefusedRequest) in
            try context.refuseBody()
            return .store(
                SendDecision.cancel(
                    id, key: key, recipient: progress.recipient, timer: progress.timer?.owner, context),
                SendAnswer.cancelling(id))
        }
        if !isTaken { incoming.reply.send(Unavailable.overloaded) }
    }
}
