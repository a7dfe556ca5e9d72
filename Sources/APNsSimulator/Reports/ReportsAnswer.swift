internal import JSON

/// What became of what phones had to tell.
struct ReportsAnswer: Sendable {
    /// With the phones.
    var waiting: Int
    /// To where they are posted.
    var sent: Int
    /// Because too many waited.
    var lost: Int
    /// Of those sent: what the server made of them. Nil where nothing is posted.
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
    /// Nil without phones.
    var reports: ReportsAnswer? {
        guard let phones else { return nil }
        let (waiting, sent, lost) = phones.reportCounts
        return ReportsAnswer(
            waiting: waiting, sent: sent, lost: lost, posted: phones.sink?.counts,
            trouble: phones.sink?.trouble)
    }
}
