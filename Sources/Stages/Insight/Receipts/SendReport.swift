package import Identifiers
package import JSON
internal import Jobs

/// The outcomes of one send's jobs, by APNs environment, from the tallies of all lanes.
///
/// The status 200 of APNs means that APNs took the push, and not that a phone showed it. So the outcome is
/// called `accepted`.
package struct SendReport: Sendable, Hashable {
    package private(set) var environments: [Environment: SendTally] = [:]

    package init() {}

    package mutating func add(_ tally: SendTally, of environment: Environment) {
        guard var sum = environments[environment] else {
            environments[environment] = tally
            return
        }
        sum.merge(tally)
        environments[environment] = sum
    }

    package mutating func merge(_ other: SendReport) {
        for (environment, tally) in other.environments { add(tally, of: environment) }
    }

    package var isEmpty: Bool { environments.isEmpty }

    /// The sum of all environments.
    package var total: SendTally? {
        let tallies = Environment.allCases.compactMap { environments[$0] }
        guard var total = tallies.first else { return nil }
        for tally in tallies.dropFirst() { total.merge(tally) }
        return total
    }

    /// Returns the number of jobs without a final receipt. A job that was sent again from the dead letters has
    /// two final receipts, so there may be more of them than jobs.
    ///
    /// - Parameter jobs: The number of jobs that the lanes reported.
    package func remainingJobs(of jobs: Int) -> Int { max(0, jobs - (total?.finishedCount ?? 0)) }
}

extension SendReport {
    /// Writes the fields into an open object.
    ///
    /// - Parameter jobs: The number of jobs that the lanes reported, or nil if it is not known.
    package func write(to writer: inout JSONWriter, jobs: Int?) {
        Self.writeTally(total, to: &writer)
        writer.field("toGo", jobs.map { remainingJobs(of: $0) })
        writer.name("environments")
        writer.beginObject()
        for environment in Environment.allCases {
            guard let tally = environments[environment] else { continue }
            writer.name(environment.rawValue)
            writer.beginObject()
            Self.writeTally(tally, to: &writer)
            writer.endObject()
        }
        writer.endObject()
    }

    private static func writeTally(_ tally: SendTally?, to writer: inout JSONWriter) {
        func count(_ outcome: ReceiptOutcome) -> Int { tally?.count(of: outcome) ?? 0 }
        writer.field("pushed", count(.accepted) + count(.rejected) + count(.unknown))
        writer.field("accepted", count(.accepted))
        writer.field("superseded", count(.superseded))
        writer.field("expired", count(.expired))
        writer.field("unknown", count(.unknown))
        writer.field("rejected", count(.rejected))
        writer.name("rejectedBy")
        writer.beginObject()
        for (reason, count) in (tally?.rejections ?? [:]).sorted(by: { $0.key < $1.key }) {
            writer.name(reason)
            writer.value(count)
        }
        writer.endObject()
        writeSystems(of: tally, to: &writer)
        guard let latencies = tally?.latencies, latencies.count > 0 else { return }
        writer.name("latencyMilliseconds")
        writer.beginObject()
        writer.field("p50", latencies.percentile(0.5))
        writer.field("p90", latencies.percentile(0.9))
        writer.field("p99", latencies.percentile(0.99))
        writer.field("max", latencies.percentile(1))
        writer.endObject()
    }
}

extension SendReport {
    /// Writes the counts of each outcome by the phones' system.
    private static func writeSystems(of tally: SendTally?, to writer: inout JSONWriter) {
        let outcomes = (tally?.systems ?? [:]).sorted { $0.key.rawValue < $1.key.rawValue }
        writer.name("bySystem")
        writer.beginObject()
        for system in Set(outcomes.flatMap { $0.value.counts.map(\.system) }).sorted() {
            writer.name(SystemCounts.name(of: system))
            writer.beginObject()
            for (outcome, counts) in outcomes {
                let count = counts.count(on: system)
                if count == 0 { continue }
                writer.name(outcome.rawValue)
                writer.value(count)
            }
            writer.endObject()
        }
        writer.endObject()
    }
}

extension SendTally {
    /// The number of rejections by reason. A missing reason counts as `none`.
    package var rejections: [String: Int] {
        outcomes.reduce(into: [:]) { counts, entry in
            if entry.key.outcome == .rejected {
                counts[entry.key.reason ?? "none", default: 0] += entry.value
            }
        }
    }
}
