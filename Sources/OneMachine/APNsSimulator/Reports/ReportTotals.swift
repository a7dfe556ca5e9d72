internal import JSON

/// Counts of the phones' reports, for the summary of the control API. Some of its fields have other names there,
/// which programs read.
struct ReportTotals: Sendable {
    /// Reports that wait in the phones.
    var waiting: Int
    /// Reports passed to the sink.
    var sent: Int
    /// Reports lost because too many waited.
    var lost: Int
    /// The server's answers to the sent reports. Nil without a sink.
    var posted: ReportCounts?
    var lastProblem: String?

    func writeFields(to json: inout JSONWriter) {
        json.field("waiting", waiting)
        json.field("sent", sent)
        json.field("lost", lost)
        guard let posted else { return }
        json.field("taken", posted.accepted)
        json.field("refused", posted.refused)
        json.field("retries", posted.retries)
        json.field("trouble", lastProblem)
    }
}

extension SimulatorController {
    /// The counts, nil without phones.
    var reportTotals: ReportTotals? {
        guard let phones else { return nil }
        let (waiting, sent, lost) = phones.reportCounts
        return ReportTotals(
            waiting: waiting, sent: sent, lost: lost, posted: phones.sink?.counts,
            lastProblem: phones.sink?.lastProblem)
    }
}
