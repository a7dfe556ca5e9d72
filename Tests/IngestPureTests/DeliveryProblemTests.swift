import CatalogRecords
import Identifiers
import IngestTesting
import InstallationRecords
import Testing
import TokenSealing

@testable import Ingest

/// Returns the obstacles after reports of one phone, in the order of their times.
private func told(_ reports: Report...) -> [String] {
    let run = IngestRun()
    for (place, report) in reports.enumerated() { run.hear(report, at: 1_000_000 + Int64(place)) }
    #expect(run.rejections == [])
    return (run.installation?.deliveryProblems ?? []).map { "\($0.entry?.text ?? "") \($0.code.rawValue)" }
}

private func report(_ kind: Report.Kind, _ change: (inout Report) -> Void = { _ in }) -> Report {
    var report = Report(app: History.app.id, environment: .production, installation: "i", kind: kind)
    report.attributesType = "Match"
    change(&report)
    return report
}

private let start = report(.startToken) { $0.token = "c0ffee" }
private let update = report(.updateToken) {
    $0.token = "beef"
    $0.activity = "a"
}

struct DeliveryProblemTests {
    @Test func `a reachable phone has no obstacle`() { #expect(told(start, update) == []) }

    @Test func `a phone reports the settings that block its pushes`() {
        #expect(told(report(.heartbeat)) == [" nothing_reported"])
        #expect(told(start, report(.heartbeat) { $0.activitiesEnabled = false }) == [" switched_off"])
        #expect(told(start, report(.heartbeat) { $0.os = "16.4" }) == [" system"])
        #expect(told(start, report(.heartbeat) { $0.os = "17.2" }) == [])
    }

    @Test func `a start token has the reason that it starts nothing`() {
        #expect(told(start, report(.unregister)) == ["start:Match unregistered"])
        #expect(told(start, report(.unregister), start) == [])
        let sandbox = report(.heartbeat) { $0.environment = .sandbox }
        #expect(told(start, sandbox) == ["start:Match other_environment"])
        let dead = report(.deadToken) {
            $0.refusal = Report.TokenRefusal(
                tokenHash: Hex.text(of: TokenSeal(keys: nil).hash(of: PushToken(hex: "c0ffee")!)),
                entry: "start:Match",
                reason: "Unregistered", invalidatedAt: nil, dispatchedAt: 1_000_001)
        }
        #expect(told(start, dead) == ["start:Match refused"])
    }

    @Test func `an activity has the reason that it is not updated`() {
        func state(_ state: Report.ActivityState) -> Report {
            report(.state) {
                $0.activity = "a"
                $0.state = state
            }
        }
        #expect(told(state(.active)) == ["update:a no_token"])
        #expect(told(update, state(.ended)) == ["update:a ended"])
        #expect(told(update, state(.dismissed)) == ["update:a dismissed"])
        #expect(told(update, report(.reconcile) { $0.runningActivities = [] }) == ["update:a not_running"])
        #expect(
            told(start, update, report(.unregister)) == ["start:Match unregistered", "update:a unregistered"])
    }
}
