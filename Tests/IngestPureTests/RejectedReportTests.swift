import CatalogRecords
import Identifiers
import InstallationRecords
import Testing
import TokenSealing

@testable import Ingest

/// The reports that become dead letters, each with the code of its reason.
@Suite struct RejectedReportTests {
    let run = IngestRun()

    /// Merges a report. Returns the code of the last rejection, or nil.
    private func code(_ report: Report, at receivedAt: Int64, now: Int64) -> RejectedReport.Code? {
        run.merge(report, at: receivedAt, now: now)
        return run.rejections.last
    }

    private func report(_ kind: Report.Kind) -> Report {
        Report(app: "shop", environment: .production, installation: "i", kind: kind)
    }

    @Test func `the codes are stable`() {
        #expect(
            RejectedReport.Code.allCases.map(\.rawValue) == [
                "received_in_future", "too_old", "environment_not_allowed", "incomplete", "bad_token",
                "sealed_token",
            ])
    }

    @Test func `a record from the future is rejected, a small difference of clocks is not`() {
        let now = History.start
        #expect(code(report(.heartbeat), at: now + Retention.clockSkewMillisecondsMax, now: now) == nil)
        #expect(
            code(report(.heartbeat), at: now + Retention.clockSkewMillisecondsMax + 1, now: now)
                == .receivedInFuture
        )
    }

    @Test func `a record older than the retention is rejected`() {
        let now = History.start
        #expect(code(report(.heartbeat), at: now - Retention.reportAgeMillisecondsMax, now: now) == nil)
        #expect(
            code(report(.heartbeat), at: now - Retention.reportAgeMillisecondsMax - 1, now: now) == .tooOld)
    }

    @Test func `an environment that the app does not use is rejected`() {
        var app = History.app
        app.environments = [.sandbox]
        let outcome = ReportMerger(app: app, seal: TokenSeal(keys: nil)).merge(
            report(.heartbeat), arrival: ReportArrival(receivedAt: 0, offset: 0), into: nil, now: 0)
        guard case .rejected(let rejection) = outcome else {
            Issue.record("the report was not rejected")
            return
        }
        #expect(rejection.code == .environmentNotAllowed)
        #expect("\(rejection)".contains("production"))
    }

    @Test(arguments: Report.Kind.allCases) func `a report that lacks a field is rejected and changes nothing`(
        _ kind: Report.Kind
    ) {
        let isComplete = [.heartbeat, .profile, .erase].contains(kind)
        #expect(code(report(kind), at: 0, now: 0) == (isComplete ? nil : .incomplete))
        #expect((run.installation != nil) == isComplete)
    }

    @Test func `an invalid token is rejected`() {
        var report = report(.startToken)
        for token in ["", "abc", "xy", String(repeating: "a", count: 2 * PushToken.bytesMax + 2)] {
            report.token = token
            #expect(code(report, at: 0, now: 0) == .badToken)
        }
        #expect(run.rejections.count == 4)
        #expect(run.installation == nil)
    }
}
