internal import HTTPServer
internal import JSON
internal import LiveActivity
internal import Telemetry

/// Answers calls: asks all lanes what they have, in as many steps as it takes, and makes one report of it.
struct Answering: Sendable {
    let asking: Asking
    /// How many there are in all.
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

    /// Lanes that did not answer each of the questions.
    func missing(_ all: [Findings]) -> [Int] {
        let known = all.reduce(Set(0..<lanes)) { $0.intersection($1.lanes) }
        return Set(0..<lanes).subtracting(known).sorted()
    }

    /// Nobody is told that something is unknown while the lane that may have it does not answer.
    func nothing(_ all: [Findings]) -> CallProblem {
        let missing = missing(all)
        return missing.isEmpty ? .unknown : .partial(missing)
    }

    /// The members that every answer ends with.
    func writeEnd(_ all: [Findings], to writer: inout JSONWriter) {
        if let asOf = all.map(\.asOf).min(), asOf != .max { writer.field("asOf", asOf) }
        let missing = missing(all)
        if missing.isEmpty { return }
        writer.name("partial")
        writer.beginObject()
        writer.list("lanes", of: missing) { $1.value($0) }
        writer.endObject()
    }

    /// An answer that is one object.
    func object(_ all: [Findings], _ write: (inout JSONWriter) -> Void) -> HTTPResponse {
        var writer = JSONWriter(capacity: 4096)
        writer.beginObject()
        write(&writer)
        writeEnd(all, to: &writer)
        writer.endObject()
        return .json(writer.bytes)
    }

    /// The first of what all lanes have listed, in order, and where the rest goes on; none when that is all.
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
