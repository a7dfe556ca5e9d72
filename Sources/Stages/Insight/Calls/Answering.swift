internal import HTTPServer
internal import JSON
internal import LiveActivity
internal import Telemetry

/// The answers to calls. It asks all lanes in one or more steps and makes one report of their rows.
struct Answering: Sendable {
    let asking: Asking
    /// The number of all lanes.
    let lanes: Int
    let fleet: FleetQuestions?

    func answer(_ call: InsightCall, now: Int64) async -> HTTPResponse {
        do {
            return try await respond(to: call, now: now)
        } catch {
            return error.response
        }
    }

    private func respond(to call: InsightCall, now: Int64) async throws(CallProblem) -> HTTPResponse {
        var parameters = try CallParameters(call)
        switch call.name {
        case .report: return try await report(call, &parameters)
        case .sends: return try await sends(call, &parameters, now: now)
        case .groups: return try await groups(call, &parameters)
        case .group: return try await group(call, &parameters)
        case .timeline: return try await timeline(call, &parameters)
        case .user: return try await user(call, parameters, now: now)
        case .installation: return try await installation(call, parameters, now: now)
        case .events: return try await events(call, &parameters, now: now)
        case .eventCounts: return try await eventCounts(call, &parameters, now: now)
        case .audit: return try await audit(call, &parameters, now: now)
        case .fleet: return try await fleetReport(call, parameters)
        }
    }

    /// Returns the lanes that did not answer every question.
    func missing(_ all: [Findings]) -> [Int] {
        let known = all.reduce(Set(0..<lanes)) { $0.intersection($1.lanes) }
        return Set(0..<lanes).subtracting(known).sorted()
    }

    /// Returns the problem for an empty result. It is "unknown" only if every lane answered, because a
    /// missing lane may hold the data.
    func nothing(_ all: [Findings]) -> CallProblem {
        let missing = missing(all)
        return missing.isEmpty ? .unknown : .partial(missing)
    }

    /// Writes the fields at the end of every answer.
    func writeEnd(_ all: [Findings], to writer: inout JSONWriter) {
        if let asOf = all.map(\.asOf).min(), asOf != .max { writer.field("asOf", asOf) }
        let missing = missing(all)
        if missing.isEmpty { return }
        writer.name("partial")
        writer.beginObject()
        writer.list("lanes", of: missing) { $1.value($0) }
        writer.endObject()
    }

    /// Returns an answer that is one JSON object.
    func object(_ all: [Findings], _ write: (inout JSONWriter) -> Void) -> HTTPResponse {
        var writer = JSONWriter(capacity: 4096)
        writer.beginObject()
        write(&writer)
        writeEnd(all, to: &writer)
        writer.endObject()
        return .json(writer.bytes)
    }

    /// Returns the first entries of all lanes in order, and the position where the list continues. The
    /// position is nil if no entry is left.
    static func page<Value>(
        _ listed: [Listed<Value>], _ limit: Int, isOldestFirst: Bool = false
    ) -> (page: [Listed<Value>], next: ListPlace?) {
        let sorted = listed.sorted {
            isOldestFirst ? $1.place.isNewer(than: $0.place) : $0.place.isNewer(than: $1.place)
        }
        let page = Array(sorted.prefix(limit))
        return (page, sorted.count > limit ? page.last?.place : nil)
    }
}
