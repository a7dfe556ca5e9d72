import Identifiers
import Sends
import Testing

@testable import FanOut

struct CompletionReportsTests {
    private func closing(_ send: String, lane: Int, found: Int = 0, app: String = "shop") -> ProgressRecord {
        var tally = LaneTally()
        tally.targeted = found
        for _ in 0..<found { tally.countJob(on: nil) }
        return ProgressRecord(
            send: send, key: ScopeKey(app: app, group: "match"), isDryRun: false, acceptedAt: 1, writtenAt: 2,
            part: .lanes([lane], tally))
    }

    private func lanes(_ closings: CompletionReports) -> [[Int]] {
        closings.records.map { if case .lanes(let lanes, _) = $0.progress.part { lanes } else { [] } }
    }

    @Test
    func `lanes without recipients share one record of a send, and a lane with recipients has its own`() {
        var closings = CompletionReports()
        for lane in 0..<4 {
            closings.add(closing("a", lane: lane, found: lane == 1 ? 3 : 0))
            closings.add(closing("b", lane: lane))
        }
        #expect(lanes(closings) == [[0, 2, 3], [0, 1, 2, 3], [1]])
        #expect(closings.records.map(\.progress.send) == ["a", "b", "a"])
        #expect(closings.records.allSatisfy { $0.key == RecordKey.join($0.progress.send) })
    }

    @Test func `a recipient that a send could not reach counts as a recipient`() {
        var closings = CompletionReports()
        var missed = LaneTally()
        missed.excludedByReason["without_token"] = 1
        for lane in 0..<2 {
            var one = closing("a", lane: lane)
            one.part = .lanes([lane], missed)
            closings.add(one)
        }
        #expect(lanes(closings) == [[0], [1]])
    }

    @Test func `sends of two apps with the same id are kept apart`() {
        var closings = CompletionReports()
        for app in ["shop", "news", "shop"] {
            closings.add(closing("a", lane: closings.records.count, app: app))
        }
        #expect(lanes(closings) == [[0, 2], [1]])
    }
}
