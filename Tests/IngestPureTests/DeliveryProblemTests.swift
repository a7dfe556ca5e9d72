import CatalogRecords
import Identifiers
import IngestTesting
import InstallationRecords
import Testing
import TokenSealing

@testable import Ingest

/// Returns the problems after reports of one phone, which arrive one after the other. A problem is written as its row
/// and its code. Before the code of a problem of the whole phone there is only a space.
private func problems(after reports: Report...) -> [String] {
    let run = IngestRun()
    for (index, report) in reports.enumerated() { run.merge(report, at: 1_000_000 + Int64(index)) }
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

/// The reasons for which pushes do not reach a phone, as ingest knows them from reports.
@Suite struct DeliveryProblemTests {
    @Test func `a reachable phone has no problem`() { #expect(problems(after: start, update) == []) }

    @Test func `a phone reports the settings that block its pushes`() {
        #expect(problems(after: report(.heartbeat)) == [" nothing_reported"])
        #expect(
            problems(after: start, report(.heartbeat) { $0.activitiesEnabled = false }) == [" switched_off"])
        #expect(problems(after: start, report(.heartbeat) { $0.os = "16.4" }) == [" system"])
        #expect(problems(after: start, report(.heartbeat) { $0.os = "17.2" }) == [])
    }

    @Test func `a start token has the reason that it starts nothing`() {
        #expect(problems(after: start, report(.unregister)) == ["start:Match unregistered"])
        #expect(problems(after: start, report(.unregister), start) == [])
        let sandbox = report(.heartbeat) { $0.environment = .sandbox }
        #expect(problems(after: start, sandbox) == ["start:Match other_environment"])
        let dead = report(.deadToken) {
            $0.refusal = Report.TokenRefusal(
                tokenHash: Hex.text(of: TokenSeal(keys: nil).hash(of: PushToken(hex: "c0ffee")!)),
                entry: "start:Match",
                reason: "Unregistered", invalidatedAt: nil, dispatchedAt: 1_000_001)
        }
        #expect(problems(after: start, dead) == ["start:Match refused"])
    }

    @Test func `an activity has the reason that it is not updated`() {
        func state(_ state: Report.ActivityState) -> Report {
            report(.state) {
                $0.activity = "a"
                $0.state = state
            }
        }
        #expect(problems(after: state(.active)) == ["update:a no_token"])
        #expect(problems(after: update, state(.ended)) == ["update:a ended"])
        #expect(problems(after: update, state(.dismissed)) == ["update:a dismissed"])
        #expect(
            problems(after: update, report(.reconcile) { $0.runningActivities = [] }) == [
                "update:a not_running"
            ])
        #expect(
            problems(after: start, update, report(.unregister)) == [
                "start:Match unregistered", "update:a unregistered",
            ])
    }
}
