internal import Identifiers
internal import JSON
internal import Jobs
internal import Payloads
internal import Sends

/// The answer about one send: its progress by the records of the planner and the lanes, and the outcomes of its
/// jobs.
struct SendSummary: Sendable {
    let progress: SendProgress
    let report: SendReport
    /// The outcomes of its failed jobs that `flotilla replay resend` has pushed again, by the ids of the resends.
    let resends: [String: SendReport]
    /// The number of taps. `QueryHandler` sets it after it has counted them.
    var opened: Int?
    /// For a start of a live group: the phones on which APNs accepted it and which report no running activity of the
    /// group. The person may not have allowed the activity yet, or may have dismissed it. `QueryHandler` sets it.
    var waitingForAllow: Int?

    /// - Parameter results: The rows of this send, and possibly of other sends.
    init(id: String, results: QueryResult) {
        var progress = SendProgress(id: id)
        for record in results.progress where record.send == id { progress.add(record) }
        var report = SendReport()
        for entry in results.tallies where entry.send == id { report.add(entry.tally, of: entry.environment) }
        var resends: [String: SendReport] = [:]
        for entry in results.tallies where DerivedSendID.isResend(entry.send, of: id) {
            resends[entry.send, default: SendReport()].add(entry.tally, of: entry.environment)
        }
        self.progress = progress
        self.report = report
        self.resends = resends
    }

    /// The time of the send's acceptance, in milliseconds since 1970. 0 if nothing is known of the send.
    var acceptedAt: Int64 { progress.acceptedAt ?? report.total?.acceptedAt ?? 0 }

    /// The number of jobs for which receipts come. Nil before the first lane reports, and for a dry run, which reports
    /// jobs and makes none.
    private var awaitedJobs: Int? {
        progress.laneTallies.isEmpty || progress.isDryRun ? nil : progress.expanded
    }

    /// Writes the send as an object of a list.
    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.field("sendId", progress.id)
        writer.field("groupId", progress.key?.group ?? report.total?.group)
        if case .user(let user)? = progress.key?.recipient ?? progress.recipient {
            writer.field("userId", user)
        }
        if let outline = progress.outline {
            outline.write(to: &writer)
        } else {
            writer.field("event", report.total?.event.rawValue)
        }
        writer.field("requestId", progress.requestID)
        // The API calls the state a verdict, because at first the only states were verdicts of the planner.
        writer.field("verdict", progress.stateName)
        writer.field("isComplete", progress.isComplete)
        writer.field("dryRun", progress.isDryRun ? true : nil)
        writer.field("version", progress.plannerPart?.version ?? report.total?.version)
        writer.field("generation", progress.plannerPart?.generation ?? report.total?.generation)
        writer.field("acceptedAt", acceptedAt)
        writer.field("at", max(progress.lastWrittenAt ?? 0, report.total?.newestReceiptAt ?? 0))
        writer.field("targeted", progress.targeted)
        writer.field("expanded", progress.expanded)
        writer.field("dropped", progress.dropped)
        let partlyVisitedLanes = progress.partlyVisitedLanes
        writer.field("lanesPartlyVisited", partlyVisitedLanes == 0 ? nil : partlyVisitedLanes)
        progress.writeExcluded(to: &writer)
        writer.name("report")
        writer.beginObject()
        writeReport(to: &writer)
        writer.endObject()
        writer.endObject()
    }

    /// Writes the fields of the outcomes into an open object.
    func writeReport(to writer: inout JSONWriter) {
        report.write(to: &writer, jobs: awaitedJobs)
        progress.writeSystems(to: &writer)
        writer.field("opened", opened)
        writer.field("waitingForAllow", waitingForAllow)
        if resends.isEmpty { return }
        writer.objects("sentAgain", of: resends.sorted { $0.key < $1.key }) { entry, writer in
            writer.field("sendId", entry.key)
            for outcome in ReceiptOutcome.allCases where outcome.isFinal {
                writer.name(outcome.rawValue)
                writer.value(entry.value.total?.count(of: outcome) ?? 0)
            }
        }
    }
}
