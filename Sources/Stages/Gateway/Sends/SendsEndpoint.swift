internal import CatalogRecords
internal import HTTPClient
internal import HTTPServer
internal import Members
internal import Sends

/// `/v1/sends`: `POST` sends, and `POST /v1/sends/batch` carries out many sends. `GET /v1/sends/{id}` returns the progress
/// of a send, and `DELETE /v1/sends/{id}` cancels it. `GET /v1/sends/keys/{key}` finds the send of a request whose answer
/// was lost. The list of sends is a query of the insight stage (`InsightEndpoint`).
struct SendsEndpoint: Sendable {
    let authorization: Authorization
    let worker: RequestWorker
    let lookup: SendLookup
    let relay: InsightRelay
    let lanes: Int

    private static let path = "/v1/sends"
    private static let batchPath = "/v1/sends/batch"
    private static let sendPath = "/v1/sends/{id}"
    private static let keyPath = "/v1/sends/keys/{key}"
    /// The times of acceptance that a caller may name, in milliseconds since 1970: up to the largest integer that programs
    /// with floating-point numbers represent exactly.
    static let acceptanceTimes: ClosedRange<Int64> = 0...(1 << 53)

    func add(to routes: inout HTTPRoutes) {
        let decider = SendDecider(route: Self.path, fields: .standard, lanes: lanes) { root, context in
            SendBody.draft(from: root, now: context.now)
        }
        routes.onAdmission(.post, path: Self.path, bodyBytesMax: GatewayLimits.sendBytesMax) {
            [authorization, worker] request in
            authorization.admit(request, for: .send) { authorized in
                worker.accept(authorized, as: .send) { context throws(RefusedRequest) in
                    try decider.decide(in: context)
                }
            }
        }
        routes.onAdmission(.post, path: Self.batchPath, bodyBytesMax: GatewayLimits.sendBytesMax) {
            [authorization, worker] request in
            authorization.admit(request, for: .send) { authorized in
                worker.acceptBatch(authorized) { context throws(RefusedRequest) in
                    try decider.decide(in: context)
                }
            }
        }
        routes.onAdmission(.get, path: Self.sendPath) { [self] request in
            authorization.admit(request, for: .read) { authorized in
                findSend(for: authorized) { id, found in
                    sendProgress(of: id, found: found, to: authorized)
                }
            }
        }
        routes.onAdmission(.get, path: Self.keyPath) { [self] request in
            authorization.admit(request, for: .read) { authorized in findByKey(authorized) }
        }
        routes.onAdmission(.delete, path: Self.sendPath) { [self] request in
            authorization.admit(request, for: .send) { authorized in
                findSend(for: authorized) { id, found in
                    cancel(id, found: found, for: authorized)
                }
            }
        }
    }

    /// Finds the send in the path and passes it to `then`, or answers that it is not found. Returns false if too many
    /// lookups wait.
    private func findSend(
        for authorized: AuthorizedRequest, then: @escaping @Sendable (SendID, FoundSend) -> Void
    ) -> Bool {
        let (request, reply) = (authorized.request, authorized.reply)
        guard let id = request.parameters["id"].flatMap({ SendID($0, lanes: lanes) }) else {
            reply.send(SendResponse.unknownSend)
            return true
        }
        let acceptedAt: Int64?
        do throws(RefusedRequest) {
            acceptedAt = try Self.acceptedAt(in: request.query)
        } catch {
            reply.send(error.response)
            return true
        }
        // A cancellation does not wait behind the queries with the same API key.
        let queue = request.method.rawValue
        let find: @Sendable (SearchStart) -> Bool = { start in
            lookUp(id, from: start, for: authorized, queue: queue) { found in
                then(id, found)
            } orElse: {
                reply.send(SendResponse.unknownSend)
            }
        }
        if let time = acceptedAt ?? id.acceptedAt { return find(.accepted(at: time)) }
        // Only the insight stage has an index of sends. It answers when the send was accepted, or up to which time it
        // has read all records without finding it. The search begins there. Without an answer it goes backwards from
        // the end.
        let query = InsightQuery(
            .locate, app: authorized.caller.app.id, key: authorized.caller.key.id, id: id.text)
        let admission = relay.ask(query) { answer in
            let start = answer.flatMap(SendLocation.init)?.searchStart ?? .backwardsFromEnd
            if !find(start) { reply.send(Unavailable.overloaded) }
        }
        if admission == .asked { return true }
        // Too many queries wait for the insight stage.
        return find(.backwardsFromEnd)
    }

    /// Answers with the progress of the send that a request with an idempotency key has stored.
    private func findByKey(_ authorized: AuthorizedRequest) -> Bool {
        let (request, app) = (authorized.request, authorized.caller.app.id)
        do throws(RefusedRequest) {
            let query = try SendKeyQuery(
                idempotencyKey: request.parameters["key"] ?? "", parameters: request.query, app: app)
            let ids = query.possibleIDs(route: Self.path, lanes: lanes)
            return findFirst(of: ids[...], acceptedAt: query.acceptedAt, for: authorized)
        } catch {
            authorized.reply.send(error.response)
            return true
        }
    }

    /// Looks for the ids one after the other, and answers with the progress of the first send that exists. There are
    /// two ids if the request names a group and a user, because the group may be shared or private.
    private func findFirst(
        of ids: ArraySlice<SendID>, acceptedAt: Int64?, for authorized: AuthorizedRequest
    ) -> Bool {
        guard let id = ids.first else {
            authorized.reply.send(SendResponse.unknownSend)
            return true
        }
        let start = acceptedAt.map { SearchStart.accepted(at: $0) } ?? .backwardsFromEnd
        return lookUp(id, from: start, for: authorized, queue: "by key") { found in
            sendProgress(of: id, found: found, to: authorized)
        } orElse: {
            let isTaken = findFirst(of: ids.dropFirst(), acceptedAt: acceptedAt, for: authorized)
            if !isTaken { authorized.reply.send(Unavailable.overloaded) }
        }
    }

    /// Looks for a send. Passes it to `then`, or calls `orElse` if the app has no such send. If the search fails, this
    /// answers the request. Returns false if too many lookups wait.
    ///
    /// - Parameter queue: The searches with one API key and one queue come one after the other.
    private func lookUp(
        _ id: SendID, from start: SearchStart, for authorized: AuthorizedRequest, queue: String,
        then: @escaping @Sendable (FoundSend) -> Void, orElse: @escaping @Sendable () -> Void
    ) -> Bool {
        let (app, key) = (authorized.caller.app.id, authorized.caller.key.id)
        return lookup.find(id, of: app, from: start, for: "\(app)/\(key) \(queue)") { result in
            switch result {
            case .send(let found): then(found)
            case .notFound: orElse()
            case .timedOut: authorized.reply.send(SendResponse.notFoundInTime)
            case .unavailable: authorized.reply.send(Unavailable.unreachable)
            }
        }
    }

    /// Returns the query parameter `at`: the time at which the send was accepted, in milliseconds since 1970. Returns
    /// nil if the request has no parameter.
    private static func acceptedAt(
        in query: [(name: String, value: String)]
    ) throws(RefusedRequest) -> Int64? {
        var problems: [RequestProblem] = []
        var acceptedAt: Int64?
        for (name, value) in query {
            if name != "at" {
                problems.append(
                    RequestProblem(
                        code: "unknown_field", at: name, message: "is not a parameter of this call; use at"))
            } else if acceptedAt == nil, let time = Int64(value), acceptanceTimes.contains(time) {
                acceptedAt = time
            } else {
                problems.append(
                    RequestProblem(
                        code: "invalid", at: "at", message: "must be milliseconds since 1970 and occur once"))
            }
        }
        if problems.isEmpty { return acceptedAt }
        throw RefusedRequest(problems)
    }

    /// Answers with the records of planner and lanes, and with the insight stage's report about the jobs.
    private func sendProgress(of id: SendID, found: FoundSend, to authorized: AuthorizedRequest) {
        let query = InsightQuery(
            .report, app: authorized.caller.app.id, key: authorized.caller.key.id, id: id.text)
        let admission = relay.ask(query) { answer in
            let report = answer?.status == 200 ? answer?.body : nil
            authorized.reply.send(found.progress.response(report: report))
        }
        switch admission {
        case .asked: break
        case .overloaded: authorized.reply.send(found.progress.response(report: nil))
        case .tooManyOfKey: authorized.reply.send(Unavailable.tooManyQuestions)
        }
    }

    private func cancel(_ id: SendID, found: FoundSend, for authorized: AuthorizedRequest) {
        // The records of a send that was found name its scope.
        guard let scope = found.progress.key else { return authorized.reply.send(SendResponse.unknownSend) }
        let isTaken = worker.accept(authorized, as: .cancel) { context throws(RefusedRequest) in
            try context.refuseBody()
            return .store(
                SendDecider.cancelRecords(
                    of: id, key: scope, recipient: found.progress.recipient, timer: found.timerOwner,
                    in: context
                ),
                SendResponse.cancelling(id))
        }
        if !isTaken { authorized.reply.send(Unavailable.overloaded) }
    }
}
