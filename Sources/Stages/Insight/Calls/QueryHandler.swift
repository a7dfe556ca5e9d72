internal import HTTPServer
internal import JSON
internal import Members
internal import Telemetry

/// Answers the calls of gateways. For a call it asks all lanes, in one or more steps, and makes one report of
/// their rows. Each call has a function in an extension.
struct QueryHandler: Sendable {
    var fanOut: QueryFanOut
    /// The number of all lanes.
    let lanes: Int
    let lagMonitor: ConsumerLagMonitor
    let freshness: FreshnessLog

    func answer(_ call: InsightQuery, now: Int64) async -> HTTPResponse {
        var handler = self
        handler.fanOut.caller = call.caller
        do {
            return try await handler.respond(to: call, now: now)
        } catch {
            return error.response
        }
    }

    private func respond(to call: InsightQuery, now: Int64) async throws(CallProblem) -> HTTPResponse {
        var parameters = try CallParameters(of: call)
        switch call.name {
        case .report: return try await report(for: call, parameters: &parameters)
        case .locate: return try await locate(for: call, parameters: parameters)
        case .sends: return try await sends(for: call, parameters: &parameters, now: now)
        case .failures: return try await failures(for: call, parameters: &parameters)
        case .series: return try await series(for: call, parameters: &parameters, now: now)
        case .groups: return try await groups(for: call, parameters: &parameters)
        case .group: return try await group(for: call, parameters: &parameters)
        case .timeline: return try await timeline(for: call, parameters: &parameters)
        case .users: return try await users(for: call, parameters: &parameters)
        case .installations: return try await installations(for: call, parameters: &parameters)
        case .user: return try await user(for: call, parameters: parameters, now: now)
        case .installation: return try await installation(for: call, parameters: parameters, now: now)
        case .events: return try await events(for: call, parameters: &parameters, now: now)
        case .eventCounts: return try await eventCounts(for: call, parameters: &parameters, now: now)
        case .audit: return try await audit(for: call, parameters: &parameters, now: now)
        case .tapOrigin: return try await tapOrigin(for: call, parameters: &parameters)
        case .deliveries: return try await deliveries(for: call, parameters: &parameters)
        case .fleet: return try await fleetReport(for: call, parameters: parameters)
        case .fleetOfApp: return try await fleetReportOfApp(for: call, parameters: parameters)
        }
    }

    // MARK: Parts of every answer

    /// Returns the rows of all lanes that answer in time, or throws if a limit ended the query.
    func ask(_ query: LaneQuery) async throws(CallProblem) -> QueryResult {
        let result = await fanOut.run(query)
        try Self.checkLimit(of: result)
        return result
    }

    static func checkLimit(of result: QueryResult) throws(CallProblem) {
        if let limit = result.limit { throw .limited(limit) }
    }

    /// Returns the lanes that did not answer every lane query.
    func missingLanes(in results: [QueryResult]) -> [Int] {
        let answered = results.reduce(Set(0..<lanes)) { $0.intersection($1.lanes) }
        return Set(0..<lanes).subtracting(answered).sorted()
    }

    /// Returns the problem for an empty result. It is "unknown" only if every lane answered, because a
    /// missing lane may hold the data.
    func emptyResultProblem(for results: [QueryResult]) -> CallProblem {
        let missing = missingLanes(in: results)
        return missing.isEmpty ? .unknown : .partial(missing: missing)
    }

    /// Writes the fields at the end of every answer.
    func writeCompleteness(of results: [QueryResult], to writer: inout JSONWriter) {
        if let asOf = results.map(\.asOf).min(), asOf != .max { writer.field("asOf", asOf) }
        let missing = missingLanes(in: results)
        if missing.isEmpty { return }
        writer.name("partial")
        writer.beginObject()
        writer.list("lanes", of: missing) { $1.value($0) }
        writer.endObject()
    }

    /// Returns an answer that is one JSON object: the fields that `write` writes, and those at the end of every
    /// answer.
    func objectResponse(from results: [QueryResult], write: (inout JSONWriter) -> Void) -> HTTPResponse {
        var writer = JSONWriter(capacity: 4096)
        writer.beginObject()
        write(&writer)
        writeCompleteness(of: results, to: &writer)
        writer.endObject()
        return .json(writer.bytes)
    }
}
