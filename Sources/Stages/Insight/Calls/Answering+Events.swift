internal import HTTPServer
internal import JSON
internal import LiveActivity

extension Answering {
    private static let rangeDays: Int64 = 31

    func events(
        _ call: InsightCall, _ parameters: inout CallParameters, now: Int64
    ) async throws(CallProblem) -> HTTPResponse {
        var question = Question(.events, app: call.app)
        question.user = try parameters.text("user")
        question.installation = try parameters.text("installation")
        question.group = try parameters.text("group")
        question.code = try code(&parameters)
        question.type = try parameters.text("type")
        (question.from, question.to) = try parameters.range(
            days: Self.rangeDays, usually: CallParameters.dayMilliseconds, now: now)
        question.isOldestFirst = try parameters.choice("order", ["newest", "oldest"]) == "oldest"
        let limit = try parameters.limit(max: Int64(Question.limitMax))
        question.limit = limit + 1
        question.after = try parameters.cursor()
        let format = try parameters.choice("format", ["json", "csv", "jsonl"])
        try parameters.end()
        let found = await asking.ask(question)
        let (listed, next) = Self.page(found.events, limit, isOldestFirst: question.isOldestFirst)
        let page = await withoutErased(listed, app: call.app)
        if format != "json" {
            // A file has no field that can report a missing lane.
            let missing = missing([found])
            if !missing.isEmpty { throw .partial(missing) }
            return EventExport(events: page.map(\.value), next: next).response(isCSV: format == "csv")
        }
        return object([found]) { writer in
            writer.objects("events", of: page) { $0.value.writeReport(to: &$1) }
            writer.field("next", next?.cursor)
        }
    }

    /// Removes events that are older than the erasure of their user.
    private func withoutErased(_ events: [Listed<Event>], app: String) async -> [Listed<Event>] {
        let users = Set(events.compactMap(\.value.user)).sorted()
        if users.isEmpty { return events }
        var question = Question(.erasures, app: app)
        question.names = users.map { Recipient.user($0).text }
        let erasures = await asking.ask(question).erasures
        if erasures.isEmpty { return events }
        return events.filter { event in
            guard let user = event.value.user, let at = erasures[Recipient.user(user).text] else {
                return true
            }
            return event.value.receivedAt > at
        }
    }

    private func code(_ parameters: inout CallParameters) throws(CallProblem) -> String? {
        guard let code = try parameters.text("code") else { return nil }
        guard Event.Code(rawValue: code) != nil else {
            let known = Event.Code.allCases.map(\.rawValue).joined(separator: ", ")
            throw .invalid("code", "must be one of \(known)")
        }
        return code
    }

    func eventCounts(
        _ call: InsightCall, _ parameters: inout CallParameters, now: Int64
    ) async throws(CallProblem) -> HTTPResponse {
        var question = Question(.counts, app: call.app)
        question.code = try code(&parameters)
        question.type = try parameters.text("type")
        question.group = try parameters.text("group")
        let (from, to) = try parameters.range(
            days: Self.rangeDays, usually: CallParameters.dayMilliseconds, now: now)
        (question.from, question.to) = (from, to)
        let isDaily = try parameters.choice("by", ["hour", "day"]) == "day"
        let split = try parameters.choices("split", of: ["code", "type", "group"], usually: ["code"])
        try parameters.end()
        // The totals are by code, independent of the split.
        question.names = Array(Set(split + ["code"]))
        let found = await asking.ask(question)
        let counts = CountsReport(found.counts, isDaily: isDaily, split: Set(split))
        return object([found]) { writer in
            writer.field("by", isDaily ? "day" : "hour")
            writer.field("from", from)
            writer.field("to", to)
            counts.write(to: &writer)
        }
    }

    func audit(
        _ call: InsightCall, _ parameters: inout CallParameters, now: Int64
    ) async throws(CallProblem) -> HTTPResponse {
        var question = Question(.audit, app: call.app)
        (question.from, question.to) = try parameters.range(
            days: 400, usually: 30 * CallParameters.dayMilliseconds, now: now)
        let limit = try parameters.limit()
        question.limit = limit + 1
        question.after = try parameters.cursor()
        try parameters.end()
        let found = await asking.ask(question)
        let (page, next) = Self.page(found.audit, limit)
        return object([found]) { writer in
            writer.objects("entries", of: page.map(\.value)) { entry, writer in
                writer.field("at", entry.at)
                writer.field("by", entry.by)
                writer.field("action", entry.action)
                writer.field("subject", entry.subject)
                writer.field("address", entry.address)
            }
            writer.field("next", next?.cursor)
        }
    }
}
