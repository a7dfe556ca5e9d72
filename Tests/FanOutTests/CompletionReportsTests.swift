import Identifiers
import Sends
import Testing

@testable import FanOut

/// Proves how the reports of finished lanes are combined into records.
struct CompletionReportsTests {
    private func makeReport(_ send: String, lane: Int, recipients: Int = 0, app: String = "shop")
        -> ProgressRecord
    {
        var tally = LaneTally()
        tally.targeted = recipients
        for _ in 0..<recipients { tally.countJob(on: nil) }
        return ProgressRecord(
            send: send, key: ScopeKey(app: app, group: "match"), isDryRun: false, acceptedAt: 1, writtenAt: 2,
            part: .lanes([lane], tally))
    }

    private func lanes(_ reports: CompletionReports) -> [[Int]] {
        reports.records.map { if case .lanes(let lanes, _) = $0.progress.part { lanes } else { [] } }
    }

    @Test
    func `lanes without recipients share one record of a send, and a lane with recipients has its own`() {
        var reports = CompletionReports()
        for lane in 0..<4 {
            reports.add(makeReport("a", lane: lane, recipients: lane == 1 ? 3 : 0))
            reports.add(makeReport("b", lane: lane))
        }
        #expect(lanes(reports) == [[0, 2, 3], [0, 1, 2, 3], [1]])
        #expect(reports.records.map(\.progress.send) == ["a", "b", "a"])
        #expect(reports.records.allSatisfy { $0.key == RecordKey.join($0.progress.send) })
    }

    @Test func `a recipient that a send could not reach counts as a recipient`() {
        var reports = CompletionReports()
        var unreachable = LaneTally()
        unreachable.excludedByReason["without_token"] = 1
        for lane in 0..<2 {
            var report = makeReport("a", lane: lane)
            report.part = .lanes([lane], unreachable)
            reports.add(report)
        }
        #expect(lanes(reports) == [[0], [1]])
    }

    @Test func `sends of two apps with the same id are kept apart`() {
        var reports = CompletionReports()
        for app in ["shop", "news", "shop"] {
            reports.add(makeReport("a", lane: reports.records.count, app: app))
        }
        #expect(lanes(reports) == [[0, 2], [1]])
    }
}
