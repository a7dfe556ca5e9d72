internal import CatalogRecords
internal import HTTPServer
internal import Identifiers
internal import InstallationRecords
internal import JSON
internal import Members

extension QueryHandler {
    private static let rangeDays: Int64 = 31

    func events(
        for call: InsightQuery, parameters: inout CallParameters, now: Int64
    ) async throws(CallProblem) -> HTTPResponse {
        var question = LaneQuery(.events, app: call.app)
        question.user = try parameters.text("user")
        question.installation = try parameters.text("installation")
        question.group = try parameters.text("group")
        question.code = try code(in: &parameters)
        question.type = try parameters.text("type")
        (question.from, question.to) = try parameters.range(
            daysMax: Self.rangeDays, defaultMilliseconds: CallParameters.dayMilliseconds, now: now)
        question.isOldestFirst = try parameters.choice("order", of: ["newest", "oldest"]) == "oldest"
        let limit = try parameters.limit(max: Int64(LaneQuery.limitMax))
        question.limit = limit + 1
        question.after = try parameters.cursor()
        let format = try parameters.choice("format", of: ["json", "csv", "jsonl"])
        try parameters.checkAllRead()
        let found = await fanOut.run(question)
        let (listed, next) = Self.page(found.events, limit: limit, isOldestFirst: question.isOldestFirst)
        let page = await withoutErased(listed, app: call.app)
        if format != "json" {
            // A file has no field that can report a missing lane.
            let missing = missingLanes(in: [found])
            if !missing.isEmpty { throw .partial(missing: missing) }
            return EventExport(events: page.map(\.value), next: next).response(isCSV: format == "csv")
        }
        return object(from: [found]) { writer in
            writer.objects("events", of: page) { $0.value.writeReport(to: &$1) }
            writer.field("next", next?.cursor)
        }
    }

    /// Removes events that are older than the erasure of their user.
    private func withoutErased(_ events: [ListEntry<Event>], app: String) async -> [ListEntry<Event>] {
        let users = Set(events.compactMap(\.value.user)).sorted()
        if users.isEmpty { return events }
        var question = LaneQuery(.erasures, app: app)
        question.names = users.map { Recipient.user($0).text }
        let erasures = await fanOut.run(question).erasures
        if erasures.isEmpty { return events }
        return events.filter { event in
            guard let user = event.value.user, let at = erasures[Recipient.user(user).text] else {
                return true
            }
            return event.value.receivedAt > at
        }
    }

    private func code(in parameters: inout CallParameters) throws(CallProblem) -> String? {
        guard let code = try parameters.text("code") else { return nil }
        guard Event.Code(rawValue: code) != nil else {
            let known = Event.Code.allCases.map(\.rawValue).joined(separator: ", ")
            throw .invalid("code", message: "must be one of \(known)")
        }
        return code
    }

    func eventCounts(
        for call: InsightQuery, parameters: inout CallParameters, now: Int64
    ) async throws(CallProblem) -> HTTPResponse {
        var question = LaneQuery(.counts, app: call.app)
        question.code = try code(in: &parameters)
        question.type = try parameters.text("type")
        question.group = try parameters.text("group")
        let (from, to) = try parameters.range(
            daysMax: Self.rangeDays, defaultMilliseconds: CallParameters.dayMilliseconds, now: now)
        (question.from, question.to) = (from, to)
        let isDaily = try parameters.choice("by", of: ["hour", "day"]) == "day"
        let split = try parameters.choices("split", of: ["code", "type", "group"], defaultingTo: ["code"])
        try parameters.checkAllRead()
        // The totals are by code, independent of the split.
        question.names = Array(Set(split + ["code"]))
        let found = await fanOut.run(question)
        let counts = EventCountsReport(counts: found.counts, isDaily: isDaily, split: Set(split))
        return object(from: [found]) { writer in
            writer.field("by", isDaily ? "day" : "hour")
            writer.field("from", from)
            writer.field("to", to)
            counts.write(to: &writer)
        }
    }

    func audit(
        for call: InsightQuery, parameters: inout CallParameters, now: Int64
    ) async throws(CallProblem) -> HTTPResponse {
        var question = LaneQuery(.audit, app: call.app)
        (question.from, question.to) = try parameters.range(
            daysMax: 400, defaultMilliseconds: 30 * CallParameters.dayMilliseconds, now: now)
        let limit = try parameters.limit()
        question.limit = limit + 1
        question.after = try parameters.cursor()
        try parameters.checkAllRead()
        let found = await fanOut.run(question)
        let (page, next) = Self.page(found.audit, limit: limit)
        return object(from: [found]) { writer in
            writer.objects("entries", of: page.map(\.value)) { entry, writer in
                writer.field("at", entry.at)
                writer.field("by", entry.author)
                writer.field("action", entry.action)
                writer.field("subject", entry.subject)
                writer.field("address", entry.address)
            }
            writer.field("next", next?.cursor)
        }
    }
}
