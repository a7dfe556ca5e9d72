package import Identifiers
package import JSON
package import Jobs
package import Payloads
internal import RecordFormat
package import Sends

/// The outcomes of one send's jobs in one lane and one APNs environment. It is a row, and a message between
/// processes. Tallies of several lanes are added up.
package struct SendTally: JSONRecord, Hashable {
    package static let schemaVersion = 1

    /// The final outcome of a job.
    package struct JobOutcome: Sendable, Hashable {
        package var outcome: ReceiptOutcome
        /// The reason in a word, from APNs or from this product.
        package var reason: String?

        package init(outcome: ReceiptOutcome, reason: String? = nil) {
            self.outcome = outcome
            self.reason = reason
        }
    }

    /// The key of a row.
    package struct Key: Sendable, Hashable {
        package var app: String
        package var send: String
        package var environment: Environment

        package init(app: String, send: String, environment: Environment) {
            self.app = app
            self.send = send
            self.environment = environment
        }
    }

    /// The limit of ends that are counted separately. Further ends count under their outcome without the
    /// reason.
    package static let outcomesMax = 200

    package var group: String?
    package var scope: ScopeKind
    package var generation: Int64
    package var version: Int64
    package var event: PushEvent
    /// The times of the send's acceptance and of its newest receipt, in milliseconds since 1970.
    package var acceptedAt: Int64
    package var at: Int64
    package private(set) var outcomes: [JobOutcome: Int] = [:]
    /// The same counts by the phones' systems.
    package private(set) var systems: [ReceiptOutcome: SystemCounts] = [:]
    /// The times from the send's acceptance to APNs' answer, for accepted jobs.
    package private(set) var latencies = LatencyHistogram()

    package init(receipt: Receipt) {
        (group, scope, generation) = (receipt.group, receipt.scope, receipt.generation)
        (version, event) = (receipt.version, receipt.event)
        (acceptedAt, at) = (receipt.acceptedAt, receipt.writtenAt)
    }

    package func count(of outcome: ReceiptOutcome) -> Int {
        outcomes.reduce(0) { $1.key.outcome == outcome ? $0 + $1.value : $0 }
    }

    /// The number of jobs with a final outcome.
    package var finishedCount: Int { outcomes.values.reduce(0, +) }

    package mutating func count(_ end: JobOutcome, systems: SystemCounts, at time: Int64) {
        at = max(at, time)
        let times = systems.count
        guard times > 0 else { return }
        count(end, times: times)
        self.systems[end.outcome, default: SystemCounts()].merge(systems)
        if end.outcome == .accepted { latencies.add(milliseconds: time - acceptedAt, times: times) }
    }

    private mutating func count(_ end: JobOutcome, times: Int) {
        let isKnown = outcomes[end] != nil || outcomes.count < Self.outcomesMax
        outcomes[isKnown ? end : JobOutcome(outcome: end.outcome), default: 0] += times
    }

    /// Adds a tally of another lane or another environment.
    package mutating func merge(_ other: SendTally) {
        at = max(at, other.at)
        for (end, times) in other.outcomes.sorted(by: { $0.key.sortKey < $1.key.sortKey }) {
            count(end, times: times)
        }
        for (outcome, counts) in other.systems { systems[outcome, default: SystemCounts()].merge(counts) }
        latencies.merge(other.latencies)
    }

    package func write(to writer: inout JSONWriter) {
        writer.field("group", group)
        writer.field("scope", scope == .group ? nil : scope.rawValue)
        writer.field("generation", generation)
        writer.field("version", version)
        writer.field("event", event.rawValue)
        writer.field("acceptedAt", acceptedAt)
        writer.field("at", at)
        writer.name("ends")
        writer.beginArray()
        for (end, count) in outcomes.sorted(by: { $0.key.sortKey < $1.key.sortKey }) {
            writer.beginObject()
            writer.field("outcome", end.outcome.rawValue)
            writer.field("reason", end.reason)
            writer.field("count", count)
            writer.endObject()
        }
        writer.endArray()
        writer.objects("systems", of: systems.sorted { $0.key.rawValue < $1.key.rawValue }) { one, writer in
            writer.field("outcome", one.key.rawValue)
            writer.name("counts")
            one.value.write(to: &writer)
        }
        writer.name("latencies")
        latencies.write(to: &writer)
    }

    package init(from record: JSONObject) {
        group = record["group"].optional?.name()
        scope = record["scope"].optional?.choice(of: ScopeKind.self) ?? .group
        generation = record["generation"].version()
        version = record["version"].version()
        event = record["event"].choice(of: PushEvent.self) ?? .update
        acceptedAt = record["acceptedAt"].timeMilliseconds()
        at = record["at"].timeMilliseconds()
        var elements = record["ends"].array(countMax: Self.outcomesMax + ReceiptOutcome.allCases.count)
        while let element = elements.next() {
            let object = element.object()
            let end = JobOutcome(
                outcome: object["outcome"].choice(of: ReceiptOutcome.self) ?? .unknown,
                reason: object["reason"].optional?.string())
            outcomes[end] = object["count"].int(in: 1...Int.max)
        }
        var systemElements = record["systems"].array(countMax: ReceiptOutcome.allCases.count)
        while let element = systemElements.next() {
            let object = element.object()
            guard let outcome = object["outcome"].choice(of: ReceiptOutcome.self) else { continue }
            systems[outcome] = SystemCounts(from: object["counts"])
        }
        latencies = LatencyHistogram(from: record["latencies"])
    }
}

extension SendTally.JobOutcome {
    fileprivate var sortKey: String { "\(outcome.rawValue) \(reason ?? "")" }
}
