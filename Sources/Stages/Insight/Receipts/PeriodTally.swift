package import JSON
package import Jobs
internal import RecordFormat

/// The outcomes of an app's jobs in one period of a series. Each job counts in the period of its first final receipt.
package struct PeriodTally: JSONRecord, Hashable {
    package static let schemaVersion = 1
    /// The limit of pairs of outcome and reason. Further ones count under their outcome without the reason.
    private static let outcomesMax = 40

    /// The beginning of the period, in milliseconds since 1970.
    package let at: Int64
    package private(set) var outcomes: [SendTally.JobOutcome: Int] = [:]
    /// The times from the sends' acceptance to APNs' answers, for accepted jobs.
    package private(set) var latencies = LatencyHistogram()

    package init(at: Int64) { self.at = at }

    package func count(of outcome: ReceiptOutcome) -> Int {
        outcomes.reduce(0) { $1.key.outcome == outcome ? $0 + $1.value : $0 }
    }

    /// Counts jobs with this outcome.
    ///
    /// - Parameter milliseconds: The time from the send's acceptance to the receipt.
    package mutating func countJobs(_ jobOutcome: SendTally.JobOutcome, jobs: Int, after milliseconds: Int64)
    {
        guard jobs > 0 else { return }
        add(jobOutcome, times: jobs)
        if jobOutcome.outcome == .accepted { latencies.add(milliseconds: milliseconds, count: jobs) }
    }

    private mutating func add(_ jobOutcome: SendTally.JobOutcome, times: Int) {
        let keepsReason = outcomes[jobOutcome] != nil || outcomes.count < Self.outcomesMax
        let counted = keepsReason ? jobOutcome : SendTally.JobOutcome(outcome: jobOutcome.outcome)
        outcomes[counted, default: 0] += times
    }

    /// Adds the same period of another lane.
    package mutating func merge(_ other: PeriodTally) {
        for (jobOutcome, times) in other.sortedOutcomes { add(jobOutcome, times: times) }
        latencies.merge(other.latencies)
    }

    /// The counts in a fixed order. At the limit of pairs the order decides which reasons are kept.
    private var sortedOutcomes: [(key: SendTally.JobOutcome, value: Int)] {
        outcomes.sorted {
            ($0.key.outcome.rawValue, $0.key.reason ?? "") < ($1.key.outcome.rawValue, $1.key.reason ?? "")
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.field("at", at)
        writer.objects("ends", of: sortedOutcomes) { entry, writer in
            writer.field("outcome", entry.key.outcome.rawValue)
            writer.field("reason", entry.key.reason)
            writer.field("count", entry.value)
        }
        writer.name("latencies")
        latencies.write(to: &writer)
    }

    package init(from record: JSONObject) {
        at = record["at"].timeMilliseconds()
        var elements = record["ends"].array(countMax: Self.outcomesMax + ReceiptOutcome.allCases.count)
        while let element = elements.next() {
            let object = element.object()
            let jobOutcome = SendTally.JobOutcome(
                outcome: object["outcome"].choice(of: ReceiptOutcome.self) ?? .unknown,
                reason: object["reason"].optional?.string())
            outcomes[jobOutcome, default: 0] += object["count"].jobCount()
        }
        latencies = LatencyHistogram(from: record["latencies"])
    }
}
