internal import HTTPClient
internal import HTTPServer
internal import LiveActivity

/// `/v1/sends`.
struct SendsEndpoint: Sendable {
    let authorization: Authorization
    let worker: RequestWorker
    let lookup: SendLookup
    let relay: InsightRelay
    let lanes: Int

    private static let path = "/v1/sends"
    private static let sendPath = "/v1/sends/{id}"
    /// The largest integer that programs with floating-point numbers represent exactly.
    private static let timeMax: Int64 = 1 << 53

    func add(to routes: inout HTTPRoutes) {
        let (authorization, worker) = (authorization, worker)
        let decider = SendDecider(route: Self.path, fields: .standard, lanes: lanes) { root, context in
            SendBody.draft(from: root, now: context.now)
        }
        routes.onAdmission(.post, path: Self.path, bodyBytesMax: GatewayLimits.sendBytesMax) { request in
            authorization.admit(request, for: .send) { incoming in
                worker.accept(incoming, as: .send) { context throws(RefusedRequest) in
                    try decider.decide(in: context)
                }
            }
        }
        routes.onAdmission(.get, path: Self.sendPath) { request in
            authorization.admit(request, for: .read) { incoming in
                find(incoming) { id, progress in report(id, progress: progress, for: incoming) }
            }
        }
        routes.onAdmission(.delete, path: Self.sendPath) { request in
            authorization.admit(request, for: .send) { incoming in
                find(incoming) { id, progress in cancel(id, progress: progress, for: incoming) }
            }
        }
    }

    /// Finds the send or answers that it is unknown. Returns false if too many lookups wait.
    private func find(
        _ incoming: AuthorizedRequest, then: @escaping @Sendable (SendID, SendProgress) -> Void
    ) -> Bool {
        let (request, reply) = (incoming.request, incoming.reply)
        guard let id = request.parameters["id"].flatMap({ SendID($0, lanes: lanes) }) else {
            reply.send(SendResponse.unknownSend)
            return true
        }
        let time: Int64?
        do throws(RefusedRequest) {
            time = try Self.acceptedAt(in: request.query)
        } catch {
            reply.send(error.response)
            return true
        }
        return lookup.find(id, of: incoming.caller.app.id, since: time) { found in
            switch found {
            case .send(let progress): then(id, progress)
            case .notFound: reply.send(SendResponse.unknownSend)
            case .timedOut: reply.send(SendResponse.notFoundInTime)
            case .unavailable: reply.send(Unavailable.unreachable)
            }
        }
    }

    /// Returns the `at` parameter: the time at which the send was accepted.
    private static func acceptedAt(in query: [(name: String, value: String)]) throws(RefusedRequest) -> Int64?
    {
        var problems: [RequestProblem] = []
        var time: Int64?
        for (name, value) in query {
            if name != "at" {
                problems.append(
                    RequestProblem(
                        code: "unknown_field", at: name, message: "is not a parameter of this call; use at"))
            } else if time == nil, let given = Int64(value), (0...timeMax).contains(given) {
                time = given
            } else {
                problems.append(
                    RequestProblem(
                        code: "invalid", at: "at", message: "must be milliseconds since 1970 and occur once"))
            }
        }
        if problems.isEmpty { return time }
        throw RefusedRequest(problems)
    }

    /// Answers with the records of planner and lanes, and with the insight stage's report about the jobs.
    private func report(_ id: SendID, progress: SendProgress, for incoming: AuthorizedRequest) {
        let call = InsightQuery(.report, app: incoming.caller.app.id, id: id.text)
        let isTaken = relay.ask(call) { answer in
            incoming.reply.send(progress.response(report: answer?.status == 200 ? answer?.body : nil))
        }
        if !isTaken { incoming.reply.send(progress.response(report: nil)) }
    }

    private func cancel(
        _ id: SendID, progress: SendProgress, for incoming: AuthorizedRequest
    ) {
        guard let key = progress.key else { return incoming.reply.send(SendResponse.unknownSend) }
        let isTaken = worker.accept(incoming, as: .cancel) {
            context throws(RefusedRequest) in
            try context.refuseBody()
            return .store(
                SendDecider.cancelRecords(
                    of: id, key: key, recipient: progress.recipient, timer: progress.timer?.owner, in: context
                ),
                SendResponse.cancelling(id))
        }
        if !isTaken { incoming.reply.send(Unavailable.overloaded) }
    }
}
