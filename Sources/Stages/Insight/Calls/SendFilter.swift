internal import JSON
internal import Jobs
internal import Payloads
internal import Sends

/// The conditions of a list of sends beside its group and its time. A send must match all of them.
struct SendFilter {
    /// The result of a send.
    enum Result: String, CaseIterable {
        /// A push was rejected, expired, or has no known result.
        case failed
        /// All lanes are done, and no push was made.
        case nobody
        /// Some pushes have no final receipt yet.
        case open
        /// All pushes were accepted or replaced by newer ones.
        case done
    }

    private static let any = "any"

    private var event: String?
    private var author: String?
    private var requestID: String?
    private var result: Result?
    /// A part of the group, the send's id, the content, the audience or the author. The case of letters does not count.
    private var text: String?

    init(reading parameters: inout CallParameters) throws(CallProblem) {
        event = Self.chosen(
            try parameters.choice("event", of: [Self.any] + PushEvent.allCases.map(\.rawValue)))
        author = try parameters.text("author")
        requestID = try parameters.text("requestId")
        result = Self.chosen(
            try parameters.choice("result", of: [Self.any] + Result.allCases.map(\.rawValue))
        ).flatMap(Result.init)
        text = try parameters.text("text")?.lowercased()
    }

    private static func chosen(_ choice: String) -> String? { choice == any ? nil : choice }

    var isEmpty: Bool {
        event == nil && author == nil && requestID == nil && result == nil && text == nil
    }

    func matches(_ summary: SendSummary) -> Bool {
        let outline = summary.progress.outline
        let sendEvent = outline?.event ?? summary.report.total?.event
        if let event, sendEvent?.rawValue != event { return false }
        if let author, outline?.author != author { return false }
        if let requestID, summary.progress.requestID != requestID { return false }
        if let result, self.result(of: summary) != result { return false }
        guard let text else { return true }
        return Self.searchedTexts(of: summary).contains { $0.lowercased().contains(text) }
    }

    private static func searchedTexts(of summary: SendSummary) -> [String] {
        let (progress, outline) = (summary.progress, summary.progress.outline)
        let content = outline?.contentState.map { String(decoding: $0.bytes, as: UTF8.self) }
        return [progress.id, progress.key?.group, content, outline?.author].compactMap(\.self)
            + (outline?.audience.names ?? [])
    }

    private func result(of summary: SendSummary) -> Result {
        let total = summary.report.total
        func count(_ outcome: ReceiptOutcome) -> Int { total?.count(of: outcome) ?? 0 }
        if count(.rejected) + count(.expired) + count(.unknown) > 0 { return .failed }
        if !summary.progress.isComplete { return .open }
        if summary.progress.expanded == 0, (total?.finishedCount ?? 0) == 0 { return .nobody }
        return summary.report.remainingJobs(of: summary.progress.expanded) > 0 ? .open : .done
    }
}
