internal import JSON

/// Counts of the phones' reports.
struct ReportsAnswer: Sendable {
    /// Reports that wait in the phones.
    var waiting: Int
    /// Reports passed to the sink.
    var sent: Int
    /// Reports lost because too many waited.
    var lost: Int
    /// The server's answers to the sent reports. Nil without a sink.
    var posted: ReportCounts?
    var trouble: String?

    func writeFields(to json: inout JSONWriter) {
        json.field("waiting", waiting)
        json.field("sent", sent)
        json.field("lost", lost)
        guard let posted else { return }
        json.field("taken", posted.taken)
        json.field("refused", posted.refused)
        json.field("retries", posted.retries)
        json.field("trouble", trouble)
    }
}

extension ControlDesk {
    /// The counts, nil without phones.
    var reports: ReportsAnswer? {
        guard let phones else { return nil }
        let (waiting, sent, lost) = phones.reportCounts
        return ReportsAnswer(
            waiting: waiting, sent: sent, lost: lost, posted: phones.sink?.counts,
            trouble: phones.sink?.trouble)
    }
}
