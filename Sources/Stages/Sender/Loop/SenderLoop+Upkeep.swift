internal import Catalog
internal import CatalogRecords
internal import Lifecycle
internal import StageSupport
internal import Telemetry

// The state that the loop reports once a second: metrics, readiness problems, and a wrong clock. It also tells the plan
// whether several apps share the lanes.
extension SenderLoop {
    /// If this machine's clock and the cluster's differ by this time, a warning is logged. Correct clocks differ less.
    private static let clockDifferenceMaxMilliseconds: Int64 = 60_000

    func reportState() {
        metrics.inFlight.set(Double(plan.takenPermitCount))
        metrics.sheets.set(Double(plan.sheetCount))
        metrics.bytes.set(Double(plan.byteCountInHand))
        metrics.suspectTokens.set(Double(plan.suspectTokenCount))
        let oldestMilliseconds = plan.oldestAcceptedAt.map { max(0, time.unixMilliseconds - $0) }
        metrics.oldestSeconds.set(Double(oldestMilliseconds ?? 0) / 1000)
        if hasStoredRecord { reportClock() }
        var problems = plan.readinessProblems + unreadablePartitions
        if offeredPartitions != nil { problems.append("the sender waits for the group's offsets") }
        shared.setReadinessProblems(problems, ofLoop: number)
        readCatalog()
    }

    private func readCatalog() {
        guard let catalog = environment.catalog else {
            plan.hasSeveralApps = true
            return
        }
        plan.hasSeveralApps = Self.isShared(catalog)
        for app in catalog.apps.values { metrics.makeBreakerSeries(of: app) }
    }

    /// Reports the difference of the clocks. The log tells only when it becomes large or small.
    private func reportClock() {
        let millisecondsAhead = WallTime.now().milliseconds - time.unixMilliseconds
        metrics.clockAhead.set(Double(millisecondsAhead) / 1000)
        let isWrong = abs(millisecondsAhead) >= Self.clockDifferenceMaxMilliseconds
        guard isWrong != isClockWrong else { return }
        isClockWrong = isWrong
        if isClockWrong {
            log.warning(
                "this machine's clock and the cluster's differ; jobs and provider tokens use the cluster's",
                .field("milliseconds_ahead", millisecondsAhead))
        } else {
            log.info("this machine's clock and the cluster's agree again")
        }
    }

    /// Returns whether several apps or environments share the lanes. Pushes of each environment wait for APNs
    /// separately.
    private static func isShared(_ catalog: CatalogSnapshot) -> Bool {
        catalog.apps.count > 1 || catalog.apps.values.contains { $0.environments.count > 1 }
    }
}
