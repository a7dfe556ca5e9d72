package import Identifiers
package import JSON
package import Jobs
package import Payloads
internal import RecordFormat
package import Sends

/// The counts of outcomes of one send's jobs, in one lane and one APNs environment. A tally is a row of a
/// `ReceiptFile`, and a part of the answers between processes. Tallies of several lanes are added up.
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

    /// The limit of pairs of outcome and reason. Further ones count under their outcome without the reason.
    package static let outcomesMax = 200

    package var group: String?
    package var scope: ScopeKind
    package var generation: Int64
    package var version: Int64
    package var event: PushEvent
    /// The time of the send's acceptance, in milliseconds since 1970.
    package var acceptedAt: Int64
    /// The time of its newest receipt, in milliseconds since 1970.
    package var newestReceiptAt: Int64
    package private(set) var outcomes: [JobOutcome: Int] = [:]
    /// The same counts by the phones' systems.
    package private(set) var systems: [ReceiptOutcome: SystemCounts] = [:]
    /// The times from the send's acceptance to APNs' answer, for accepted jobs.
    package private(set) var latencies = LatencyHistogram()

    package init(receipt: Receipt) {
        (group, scope, generation) = (receipt.group, receipt.scope, receipt.generation)
        (version, event) = (receipt.version, receipt.event)
        (acceptedAt, newestReceiptAt) = (receipt.acceptedAt, receipt.writtenAt)
    }

    package func count(of outcome: ReceiptOutcome) -> Int {
        outcomes.reduce(0) { $1.key.outcome == outcome ? $0 + $1.value : $0 }
    }

    /// The number of jobs with a final outcome.
    package var finishedCount: Int { outcomes.values.reduce(0, +) }

    /// Counts the jobs of one receipt that have this outcome.
    ///
    /// - Parameters:
    ///   - systems: The jobs by the phones' systems.
    ///   - time: The time of the receipt.
    package mutating func countJobs(_ jobOutcome: JobOutcome, systems: SystemCounts, at time: Int64) {
        newestReceiptAt = max(newestReceiptAt, time)
        let jobs = systems.total
        guard jobs > 0 else { return }
        add(jobOutcome, times: jobs)
        self.systems[jobOutcome.outcome, default: SystemCounts()].merge(systems)
        if jobOutcome.outcome == .accepted { latencies.add(milliseconds: time - acceptedAt, count: jobs) }
    }

    private mutating func add(_ jobOutcome: JobOutcome, times: Int) {
        let keepsReason = outcomes[jobOutcome] != nil || outcomes.count < Self.outcomesMax
        let counted = keepsReason ? jobOutcome : JobOutcome(outcome: jobOutcome.outcome)
        outcomes[counted, default: 0] += times
    }

    /// Adds a tally of another lane or another environment.
    package mutating func merge(_ other: SendTally) {
        newestReceiptAt = max(newestReceiptAt, other.newestReceiptAt)
        // At the limit of pairs the order decides which reasons are kept, so it is fixed.
        for (jobOutcome, times) in other.outcomes.sorted(by: { $0.key.sortKey < $1.key.sortKey }) {
            add(jobOutcome, times: times)
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
        writer.field("at", newestReceiptAt)
        writer.name("ends")
        writer.beginArray()
        for (jobOutcome, count) in outcomes.sorted(by: { $0.key.sortKey < $1.key.sortKey }) {
            writer.beginObject()
            writer.field("outcome", jobOutcome.outcome.rawValue)
            writer.field("reason", jobOutcome.reason)
            writer.field("count", count)
            writer.endObject()
        }
        writer.endArray()
        writer.objects("systems", of: systems.sorted { $0.key.rawValue < $1.key.rawValue }) { entry, writer in
            writer.field("outcome", entry.key.rawValue)
            writer.name("counts")
            entry.value.write(to: &writer)
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
        newestReceiptAt = record["at"].timeMilliseconds()
        // The limit of pairs, and each outcome once more without a reason.
        var elements = record["ends"].array(countMax: Self.outcomesMax + ReceiptOutcome.allCases.count)
        while let element = elements.next() {
            let object = element.object()
            let jobOutcome = JobOutcome(
                outcome: object["outcome"].choice(of: ReceiptOutcome.self) ?? .unknown,
                reason: object["reason"].optional?.string())
            outcomes[jobOutcome, default: 0] += object["count"].jobCount()
        }
        var systemElements = record["systems"].array(countMax: ReceiptOutcome.allCases.count)
        while let element = systemElements.next() {
            let object = element.object()
            guard let outcome = object["outcome"].choice(of: ReceiptOutcome.self) else { continue }
            systems[outcome, default: SystemCounts()].merge(SystemCounts(from: object["counts"]))
        }
        latencies = LatencyHistogram(from: record["latencies"])
    }
}

extension SendTally.JobOutcome {
    fileprivate var sortKey: String { "\(outcome.rawValue) \(reason ?? "")" }
}
