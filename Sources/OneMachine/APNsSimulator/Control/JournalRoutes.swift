internal import APNs
internal import HTTPServer
internal import JSON

/// `GET /v1/journal` and `GET /v1/summary`: the received requests with their outcomes, and their totals.
struct JournalRoutes {
    /// Limit on the entries of one page.
    static let limitMax = 1_000
    private static let limitDefault = 100
    /// The statuses of final answers in HTTP.
    private static let statuses = 200...599

    let controller: SimulatorController

    func add(to routes: inout HTTPRoutes) {
        addJournal(to: &routes)
        addSummary(to: &routes)
    }

    // MARK: The journal

    private func addJournal(to routes: inout HTTPRoutes) {
        routes.control(.get, path: "/v1/journal") { [controller] request in
            try request.refuseUnknownQuery(
                known: "after", "limit", "token", "channel", "id", "connection", "status", "payload")
            let after = try request.queryNumber("after", in: 0...Int.max, default: 0)
            let limit = try request.queryNumber("limit", in: 1...Self.limitMax, default: Self.limitDefault)
            let filter = try Self.filter(from: request)
            let showsPayload = try request.queryFlag("payload")
            let page = try await controller.perform {
                $0.journal.ring.page(after: after, matching: filter, limit: limit)
            }
            return Self.response(for: page, showsPayload: showsPayload)
        }
    }

    /// Reads the filter from the query. `token` may occur several times.
    private static func filter(from request: HTTPRequest) throws -> JournalRing.Filter {
        var filter = JournalRing.Filter()
        for field in request.query where field.name == "token" {
            guard filter.tokens.insert(field.value) else {
                throw ControlRefusal(
                    status: 400, code: "bad_query",
                    message: "token must be hexadecimal, or tok: and 8 digits as shown in the journal")
            }
        }
        filter.channel = request.query(named: "channel")
        if let text = request.query(named: "id") {
            filter.id = PushID(canonical: text)
            if filter.id == nil {
                throw ControlRefusal(
                    status: 400, code: "bad_query", message: "id must be a lower-case UUID like apns-id")
            }
        }
        // `map` reads only a field that is there, so the defaults are never used.
        filter.connection = try request.query(named: "connection").map { _ in
            try request.queryNumber("connection", in: 1...Int.max, default: 1)
        }
        filter.status = try request.query(named: "status").map { _ in
            try request.queryNumber("status", in: statuses, default: statuses.lowerBound)
        }
        return filter
    }

    /// Writes a page. This runs off the loop, because a page has about a hundred kilobytes, and megabytes
    /// with payloads.
    private static func response(for page: JournalRing.Page, showsPayload: Bool) -> HTTPResponse {
        .object { json in
            json.name("entries")
            json.beginArray()
            for numbered in page.entries { numbered.write(to: &json, showsPayload: showsPayload) }
            json.endArray()
            json.field("after", page.after)
            json.field("newest", page.newest)
            json.field("missed", page.missed)
        }
    }

    // MARK: The summary

    private func addSummary(to routes: inout HTTPRoutes) {
        routes.control(.get, path: "/v1/summary") { [controller] _ in
            let reports = try await controller.perform { $0.reportTotals }
            let (summary, openedCount, openCount) = try await controller.perform {
                ($0.journal.summary, $0.simulator.connectionsOpened, $0.simulator.connections.count)
            }
            let (omittedEntries, omittedRecords) = try await controller.perform {
                ($0.journal.file?.omittedEntries ?? 0, $0.journal.recordFile?.omittedRecords ?? 0)
            }
            return .object { json in
                summary.writeFields(to: &json)
                json.object("connections") { json in
                    json.field("opened", openedCount)
                    json.field("open", openCount)
                }
                json.field("leftOutOfJournalFile", omittedEntries)
                json.field("leftOutOfRecords", omittedRecords)
                guard let reports else { return }
                json.object("reports") { reports.writeFields(to: &$0) }
            }
        }
    }
}
