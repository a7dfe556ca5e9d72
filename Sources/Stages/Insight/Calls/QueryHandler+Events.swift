internal import CatalogRecords
internal import HTTPServer
internal import Identifiers
internal import InstallationRecords
internal import JSON
internal import Members

extension QueryHandler {
    /// The longest range of a call, in days.
    private static let rangeDays: Int64 = 31
    private static let auditRangeDays: Int64 = 400
    private static let auditDaysDefault: Int64 = 30

    /// Answers with a list of events, as JSON or as a file.
    func events(
        for call: InsightQuery, parameters: inout CallParameters, now: Int64
    ) async throws(CallProblem) -> HTTPResponse {
        var query = LaneQuery(.events, app: call.app)
        query.user = try parameters.text("user")
        query.installation = try parameters.text("installation")
        query.group = try parameters.text("group")
        query.code = try code(in: &parameters)
        query.type = try parameters.text("type")
        (query.from, query.to) = try parameters.range(
            daysMax: Self.rangeDays, defaultMilliseconds: CallParameters.dayMilliseconds, now: now)
        query.isOldestFirst = try parameters.choice("order", of: ["newest", "oldest"]) == "oldest"
        let limit = try parameters.limit(max: Int64(LaneQuery.limitMax))
        // The extra entry shows whether the list continues.
        query.limit = limit + 1
        query.after = try parameters.cursor()
        let format = try parameters.choice("format", of: ["json", "csv", "jsonl"])
        try parameters.checkAllRead()
        let result = try await ask(query)
        let (listed, next) = ListOrder(isOldestFirst: query.isOldestFirst).firstPage(
            of: result.events, cuts: result.cuts, limit: limit)
        let page = try await removingErased(listed, app: call.app)
        if format != "json" {
            // A file has no field that can report a missing lane.
            let missing = missingLanes(in: [result])
            if !missing.isEmpty { throw .partial(missing: missing) }
            return EventExport(events: page.map(\.value), next: next).response(isCSV: format == "csv")
        }
        return objectResponse(from: [result]) { writer in
            writer.objects("items", of: page) { $0.value.writeReport(to: &$1) }
            writer.field("next", next?.cursor)
        }
    }

    /// Removes events that are older than the erasure of their user.
    private func removingErased(
        _ events: [ListEntry<Event>], app: String
    ) async throws(CallProblem) -> [ListEntry<Event>] {
        let users = Set(events.compactMap(\.value.user)).sorted()
        if users.isEmpty { return events }
        var query = LaneQuery(.erasures, app: app)
        query.names = users.map { Recipient.user($0).text }
        let erasures = try await ask(query).erasures
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
            try parameters.report(.invalid("code", message: "must be one of \(known)"))
            return nil
        }
        return code
    }

    /// Answers with the number of events by hour or day.
    func eventCounts(
        for call: InsightQuery, parameters: inout CallParameters, now: Int64
    ) async throws(CallProblem) -> HTTPResponse {
        var query = LaneQuery(.counts, app: call.app)
        query.code = try code(in: &parameters)
        query.type = try parameters.text("type")
        query.group = try parameters.text("group")
        query.user = try parameters.text("user")
        query.installation = try parameters.text("installation")
        let (from, to) = try parameters.range(
            daysMax: Self.rangeDays, defaultMilliseconds: CallParameters.dayMilliseconds, now: now)
        (query.from, query.to) = (from, to)
        let isDaily = try parameters.choice("by", of: ["hour", "day"]) == "day"
        let split = try parameters.choices(
            "split", of: ["code", "type", "group", "user"], defaultingTo: ["code"])
        // A cursor names the first hour of the next page.
        if let cursor = try parameters.cursor() { query.from = max(from, cursor.at) }
        try parameters.checkAllRead()
        // The totals are by code, independent of the split.
        query.names = Array(Set(split + ["code"]))
        let result = try await ask(query)
        let counts = EventCountsReport(counts: result.eventCounts, isDaily: isDaily, split: Set(split))
        return objectResponse(from: [result]) { writer in
            writer.field("by", isDaily ? "day" : "hour")
            writer.field("from", from)
            writer.field("to", to)
            counts.write(to: &writer)
            let next = result.cutHour.map {
                ListPosition(at: $0 * EventCounts.hourMilliseconds, tieBreaker: [])
            }
            writer.field("next", next?.cursor)
        }
    }

    /// Answers with the audit entries of an app.
    func audit(
        for call: InsightQuery, parameters: inout CallParameters, now: Int64
    ) async throws(CallProblem) -> HTTPResponse {
        let isAboutSends = try parameters.choice("of", of: ["settings", "sends"]) == "sends"
        var query = LaneQuery(isAboutSends ? .auditSends : .audit, app: call.app)
        query.author = try parameters.text("by")
        query.code = try parameters.text("action")
        query.subject = try parameters.text("subject")
        (query.from, query.to) = try parameters.range(
            daysMax: Self.auditRangeDays,
            defaultMilliseconds: Self.auditDaysDefault * CallParameters.dayMilliseconds, now: now)
        let limit = try parameters.limit()
        query.limit = limit + 1
        query.after = try parameters.cursor()
        try parameters.checkAllRead()
        let result = try await ask(query)
        let (page, next) = ListOrder().firstPage(of: result.audit, cuts: result.cuts, limit: limit)
        return objectResponse(from: [result]) { writer in
            writer.objects("items", of: page.map(\.value)) { entry, writer in
                writer.field("at", entry.at)
                writer.field("by", entry.author)
                writer.field("action", entry.action)
                writer.field("subject", entry.subject)
                writer.field("address", entry.address)
                writer.field("requestId", entry.requestID)
            }
            writer.field("next", next?.cursor)
        }
    }
}
