internal import HTTPServer
internal import JSON
internal import Jobs
internal import Members

extension QueryHandler {
    /// The shown time of a series.
    private enum Window: String, CaseIterable {
        case quarterHour = "15m"
        case day = "24h"

        var milliseconds: Int64 { self == .quarterHour ? 900_000 : CallParameters.dayMilliseconds }
        var resolution: SeriesResolution { self == .quarterHour ? .tenSeconds : .tenMinutes }
        /// The period of the samples of freshness, which are a minute apart.
        var freshnessMilliseconds: Int64 { self == .quarterHour ? 60_000 : resolution.milliseconds }
    }

    private static let hourMilliseconds: Int64 = 3_600_000

    /// Answers with the pushes, their latency and the freshness of phones over time, and with the failures of the last
    /// hour.
    func series(
        for call: InsightQuery, parameters: inout CallParameters, now: Int64
    ) async throws(CallProblem) -> HTTPResponse {
        let choice = try parameters.choice("range", of: Window.allCases.map(\.rawValue))
        try parameters.checkAllRead()
        let window = Window(rawValue: choice) ?? .quarterHour
        let end = window.resolution.beginning(of: now) + window.resolution.milliseconds
        let times = end - window.milliseconds..<end
        let periods = try await periods(of: call.app, resolution: window.resolution, in: times)
        let lastHour = try await self.periods(
            of: call.app, resolution: .minute, in: now - Self.hourMilliseconds..<now + 1)
        let history = await freshnessOfAllProcesses(of: call.app, in: times)
        let samples = history.samples.joined(periodMilliseconds: window.freshnessMilliseconds)
        return objectResponse(from: [periods, lastHour]) { writer in
            writer.field("range", window.rawValue)
            writer.field("from", times.lowerBound)
            writer.field("to", times.upperBound)
            writer.field("periodMilliseconds", window.resolution.milliseconds)
            writer.objects("items", of: periods.periods.sorted { $0.at < $1.at }) { $0.writeReport(to: &$1) }
            writer.field("freshnessMilliseconds", window.freshnessMilliseconds)
            writer.objects("freshness", of: samples.values.sorted { $0.at < $1.at }) { sample, writer in
                writer.field("at", sample.at)
                writer.field(
                    "share",
                    sample.running > 0 ? Double(sample.onNewest) / Double(sample.running) : nil)
            }
            Self.writeFailures(of: lastHour.periods, to: &writer)
            writer.objects("behind", of: history.behindSince.sorted { $0.key < $1.key }) { entry, writer in
                writer.field("groupId", entry.key)
                writer.field("since", entry.value)
            }
        }
    }

    private func periods(
        of app: String, resolution: SeriesResolution, in times: Range<Int64>
    ) async throws(CallProblem) -> QueryResult {
        var query = LaneQuery(.series, app: app)
        query.code = resolution.rawValue
        (query.from, query.to) = (max(0, times.lowerBound), times.upperBound)
        return try await ask(query)
    }

    /// Writes the rejected, expired and unknown pushes of the last hour by reason.
    private static func writeFailures(of periods: [PeriodTally], to writer: inout JSONWriter) {
        var failures: [String: Int] = [:]
        for (jobOutcome, count) in periods.flatMap(\.outcomes) {
            switch jobOutcome.outcome {
            case .rejected: failures[jobOutcome.reason ?? "none", default: 0] += count
            case .expired, .unknown: failures[jobOutcome.outcome.rawValue, default: 0] += count
            case .accepted, .superseded, .moved, .intent, .released: break
            }
        }
        writer.name("failuresOfLastHour")
        writer.beginObject()
        for (reason, count) in failures.sorted(by: { $0.key < $1.key }) {
            writer.name(reason)
            writer.value(count)
        }
        writer.endObject()
    }
}

extension PeriodTally {
    /// Writes the fields of a period in an answer.
    fileprivate func writeReport(to writer: inout JSONWriter) {
        writer.field("at", at)
        for outcome in ReceiptOutcome.allCases where outcome.isFinal {
            let count = count(of: outcome)
            if count == 0 { continue }
            writer.name(outcome.rawValue)
            writer.value(count)
        }
        writer.field("p50", latencies.percentile(0.5))
        writer.field("p99", latencies.percentile(0.99))
    }
}
